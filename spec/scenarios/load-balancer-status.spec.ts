import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LoadBalancer } from '../../lib/hetzner/lb-types.ts';
import { balanced, type Ingress, ingressOf } from '../support/balanced.ts';
import { type VirtualStartOptions, virtualApp } from '../support/virtual-app.ts';

/** What the status of a Service says of its load balancer: field reports 045, 046 and 058, in virtual time. */

interface Row {
  readonly publicOff: boolean;
  readonly privateIngressOff: boolean;
  readonly ipv6Off: boolean;
  readonly hostname: boolean;
}

const bools = [false, true];
const rows: readonly Row[] = bools.flatMap(publicOff =>
  bools.flatMap(privateIngressOff =>
    bools.flatMap(ipv6Off => bools.map(hostname => ({ publicOff, privateIngressOff, ipv6Off, hostname }))),
  ),
);
const nameOf = (row: Row): string => `web-${Object.values(row).map(Number).join('')}`;
const hostAnnotation = ({ hostname }: Row): Record<string, string> => (hostname ? { hostname: 'lb.example.com' } : {});

/** By the report, word for word. */
const expected = (row: Row, lb: LoadBalancer): Ingress[] => {
  if (row.hostname) return [{ hostname: 'lb.example.com' }];
  const ips = [
    row.publicOff ? undefined : lb.publicNet.ipv4?.ip,
    row.publicOff || row.ipv6Off ? undefined : lb.publicNet.ipv6?.ip,
    row.privateIngressOff ? undefined : lb.privateNets[0]?.ip,
  ];
  return ips.filter(ip => ip !== undefined).map(ip => ({ ip, ipMode: 'VIP' }));
};

const running = async (t: Parameters<typeof virtualApp>[0], start: VirtualStartOptions = {}) => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  const controller = v.start(start);
  await v.advance(20_000);
  return { v, b, controller };
};

const checkRow = ({ b }: Awaited<ReturnType<typeof running>>, row: Row): void => {
  const name = nameOf(row);
  const wanted = expected(row, b.balancer(name));
  assert.deepEqual(ingressOf(b.service(name)), wanted, name);
  assert.equal(b.told(name, 'NoIngressAddress') > 0, wanted.length === 0, `${name}: ${b.events(name).join('\n')}`);
};

it('BUG-045: names the addresses that the annotations leave, in each of 16 combinations', async t => {
  const s = await running(t);
  for (const row of rows) {
    await s.b.create(nameOf(row), {
      'use-private-ip': 'true',
      'disable-public-network': String(row.publicOff),
      'disable-private-ingress': String(row.privateIngressOff),
      'ipv6-disabled': String(row.ipv6Off),
      ...hostAnnotation(row),
    });
  }
  await s.v.advance(60_000);
  for (const row of rows) checkRow(s, row);
  const lengths = rows.map(row => ingressOf(s.b.service(nameOf(row))).length).sort();
  assert.deepEqual(new Set(lengths), new Set([0, 1, 2, 3]));
});

for (const row of rows.filter(({ hostname }) => !hostname)) {
  it(`BUG-045: names the same addresses where variables say so and no annotation does (${nameOf(row)})`, async t => {
    const s = await running(t, {
      env: {
        HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: 'true',
        HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK: String(row.publicOff),
        HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS: String(row.privateIngressOff),
        HCLOUD_LOAD_BALANCERS_DISABLE_IPV6: String(row.ipv6Off),
      },
    });
    const named = { ...row, hostname: true };
    for (const one of [row, named]) await s.b.create(nameOf(one), hostAnnotation(one));
    await s.b.create('contrary', {
      'disable-public-network': String(!row.publicOff),
      'disable-private-ingress': String(!row.privateIngressOff),
      'ipv6-disabled': String(!row.ipv6Off),
    });
    await s.v.advance(60_000);
    for (const one of [row, named]) checkRow(s, one);
    const contrary = {
      publicOff: !row.publicOff,
      privateIngressOff: !row.privateIngressOff,
      ipv6Off: !row.ipv6Off,
      hostname: false,
    };
    assert.deepEqual(ingressOf(s.b.service('contrary')), expected(contrary, s.b.balancer('contrary')));
  });
}

it('BUG-045: names the public addresses where there is no network', async t => {
  const { v, b } = await running(t, { env: { HCLOUD_NETWORK: undefined } });
  await b.create('web');
  await v.advance(60_000);
  const { publicNet, privateNets } = b.balancer('web');
  assert.deepEqual(privateNets, []);
  assert.deepEqual(
    ingressOf(b.service('web')).map(({ ip }) => ip),
    [publicNet.ipv4?.ip, publicNet.ipv6?.ip],
  );
});

it('BUG-045: follows when the switches are turned on a live load balancer', async t => {
  const s = await running(t);
  const { v, b } = s;
  const [first] = rows as [Row];
  await b.create(nameOf(first), { 'use-private-ip': 'true' });
  await v.advance(20_000);
  const { id } = b.balancer(nameOf(first));
  for (const row of [...rows, first]) {
    await b.change(nameOf(first), {
      'disable-public-network': String(row.publicOff),
      'disable-private-ingress': String(row.privateIngressOff),
      'ipv6-disabled': String(row.ipv6Off),
      hostname: row.hostname ? 'lb.example.com' : null,
    });
    await v.advance(20_000);
    const now = b.balancer(nameOf(first));
    assert.deepEqual(ingressOf(b.service(nameOf(first))), expected(row, now), nameOf(row));
    assert.deepEqual([now.id, now.publicNet.enabled], [id, !row.publicOff]);
  }
});

it('BUG-046: says how traffic from inside the cluster goes, by the variable, and by the annotation against it', async t => {
  const { v, b } = await running(t, { env: { HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL: 'true' } });
  await b.create('web');
  await v.advance(20_000);
  const modes = () => new Set(ingressOf(b.service('web')).map(({ ipMode }) => ipMode));
  assert.deepEqual(modes(), new Set(['Proxy']));
  assert.equal(b.balancer('web').services[0]?.proxyProtocol, true);
  await b.change('web', { 'uses-proxyprotocol': 'false' });
  await v.advance(20_000);
  assert.deepEqual(modes(), new Set(['VIP']));
  assert.equal(b.balancer('web').services[0]?.proxyProtocol, false);
  const flipped = v.now();
  await b.change('web', { 'uses-proxyprotocol': null });
  await v.advance(20_000);
  assert.deepEqual(modes(), new Set(['Proxy']));
  const statusWrites = v.kubernetes.journal.writes().filter(r => r.at >= flipped && r.path.endsWith('/web/status'));
  assert.equal(statusWrites.length, 1);
});

const switches: Readonly<Record<string, readonly [VirtualStartOptions, Readonly<Record<string, string>>]>> = {
  'the annotation disable-private-ingress': [{}, { 'disable-private-ingress': 'true' }],
  'the variable HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS': [
    { env: { HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS: 'true' } },
    {},
  ],
  'the annotation hostname': [{}, { hostname: 'lb.example.com' }],
};
for (const [what, [start, annotations]] of Object.entries(switches)) {
  it(`BUG-058: keeps the private address out of the status by ${what}, so that IPVS does not bind it`, async t => {
    const { v, b } = await running(t, start);
    await b.create('web', { 'use-private-ip': 'true', ...annotations });
    await v.advance(20_000);
    const { privateNets } = b.balancer('web');
    assert.equal(privateNets.length, 1);
    const said = ingressOf(b.service('web'));
    assert.ok(
      said.length > 0 && said.every(({ ip }) => ip === undefined || !ip.startsWith('10.')),
      JSON.stringify(said),
    );
  });
}
