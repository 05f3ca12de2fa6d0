import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ingressOf, lacksAddress, planStatus, sameIngress } from '../../../lib/controllers/load-balancer/status.ts';
import { wantedOf } from '../../../lib/controllers/load-balancer/wanted.ts';
import { annotated, configFrom, kubeService, loadBalancer, noSettings } from './support.ts';

const [v4, v6, inside] = ['203.0.113.7', '2001:db8:7::1', '10.0.0.7'];
const both = [true, false] as const;

describe('the status of a Service', () => {
  for (const isPublic of both)
    for (const isAttached of both)
      for (const hidesPrivate of both)
        for (const hidesIPv6 of both)
          for (const from of ['annotation', 'default'] as const) {
            const expected = [
              ...(isPublic ? [v4] : []),
              ...(isPublic && !hidesIPv6 ? [v6] : []),
              ...(isAttached && !hidesPrivate ? [inside] : []),
            ];
            const words = [
              `public ${isPublic ? 'on' : 'off'}`,
              isAttached ? 'attached' : 'not attached',
              ...(hidesPrivate ? ['private ingress off'] : []),
              ...(hidesIPv6 ? ['IPv6 off'] : []),
            ];
            it(`BUG-045: has ${expected.join(' ') || 'nothing'}, by ${from}: ${words.join(', ')}`, () => {
              const annotations = { 'disable-private-ingress': `${hidesPrivate}`, 'ipv6-disabled': `${hidesIPv6}` };
              const config =
                from === 'annotation'
                  ? configFrom(annotations, { disablePrivateIngress: !hidesPrivate, disableIPv6: !hidesIPv6 })
                  : configFrom({}, { disablePrivateIngress: hidesPrivate, disableIPv6: hidesIPv6 });
              const lb = loadBalancer({
                publicNet: {
                  enabled: isPublic,
                  ipv4: { ip: v4, dnsPtr: undefined },
                  ipv6: { ip: v6, dnsPtr: undefined },
                },
                privateNets: isAttached ? [{ network: 9, ip: inside }] : [],
              });
              assert.deepEqual(
                ingressOf(lb, config).map(({ ip }) => ip),
                expected,
              );
              const named = { ...config, hostname: 'lb.example.com' };
              assert.deepEqual(ingressOf(lb, named), [{ hostname: 'lb.example.com' }]);
            });
          }

  it('BUG-046: says Proxy for the PROXY protocol of annotation or default, else VIP', () => {
    const modes = (...all: Parameters<typeof configFrom>) => [
      ...new Set(ingressOf(loadBalancer(), configFrom(...all)).map(({ ipMode }) => ipMode)),
    ];
    assert.deepEqual(modes({}), ['VIP']);
    assert.deepEqual(modes({ 'uses-proxyprotocol': 'true' }), ['Proxy']);
    assert.deepEqual(modes({}, { usesProxyProtocol: true }), ['Proxy']);
    assert.deepEqual(modes({ 'uses-proxyprotocol': 'false' }, { usesProxyProtocol: true }), ['VIP']);
  });

  it('does not show addresses that are not known yet, and knows that some are missing', () => {
    const unknown = { enabled: true, ipv4: undefined, ipv6: undefined };
    assert.deepEqual(
      ingressOf(loadBalancer({ publicNet: unknown, privateNets: [{ network: 9, ip: '' }] }), configFrom({})),
      [],
    );
    const shown = configFrom({});
    const hidden = configFrom({ 'disable-private-ingress': 'true' });
    const named = configFrom({ hostname: 'lb.example.com' });
    const reversed = configFrom({ hostname: 'lb.example.com', 'ipv4-rdns': 'lb.example.com' });
    const untold = loadBalancer({ publicNet: unknown });
    const rows = [
      [untold, shown, true],
      [untold, named, false],
      [untold, reversed, true],
      [loadBalancer(), reversed, false],
      [loadBalancer({ publicNet: { ...unknown, enabled: false } }), shown, false],
      [loadBalancer({ privateNets: [{ network: 9, ip: '' }] }), shown, true],
      [loadBalancer({ privateNets: [{ network: 9, ip: '' }] }), hidden, false],
      [loadBalancer({ privateNets: [{ network: 9, ip: inside }] }), shown, false],
    ] as const;
    for (const [lb, config, expected] of rows) assert.equal(lacksAddress(lb, config), expected);
  });

  it('shows of what nobody can tell what it showed before', () => {
    const lb = loadBalancer({ privateNets: [{ network: 9, ip: inside }] });
    const plan = (annotations: Record<string, string>, present: readonly string[]) => {
      const { config, held } = wantedOf(kubeService({ annotations: annotated(annotations) }), noSettings, 9);
      return planStatus({ ingress: present.map(ip => ({ ip, ipMode: 'VIP' })) }, lb, { config, held })?.map(
        ({ ip }) => ip,
      );
    };
    const wrong = { 'disable-private-ingress': 'yes', 'ipv6-disabled': 'yes' };
    assert.deepEqual(plan(wrong, []), [v4], 'nothing that somebody may have wanted to hide');
    assert.equal(plan(wrong, [v4]), undefined);
    assert.deepEqual(plan(wrong, [v4, '10.0.0.99']), [v4, inside], 'an address that is not current goes');
    assert.equal(plan(wrong, [v4, v6, inside]), undefined);
    assert.deepEqual(plan({ 'ipv6-disabled': 'yes' }, [v4]), [v4, inside]);
    assert.deepEqual(plan({ 'disable-private-ingress': 'yes' }, [v4]), [v4, v6]);
  });

  it('keeps what it has while Hetzner tells no addresses', () => {
    const untold = loadBalancer({ publicNet: { enabled: true, ipv4: undefined, ipv6: undefined } });
    const { config, held } = wantedOf(kubeService(), noSettings, 9);
    assert.equal(planStatus({ ingress: [{ ip: v4, ipMode: 'VIP' }] }, untold, { config, held }), undefined);
  });

  it('is written when an address, its order, the host or the mode differs, and not for a mode the server dropped', () => {
    const a = { ip: v4, ipMode: 'VIP' };
    const b = { ip: v6, ipMode: 'VIP' };
    assert.equal(sameIngress([a, b], [a, b]), true);
    assert.equal(sameIngress([{ ip: v4 }], [a]), true);
    assert.equal(sameIngress([a], [{ ...a, ipMode: 'Proxy' }]), false);
    assert.equal(sameIngress([a, b], [b, a]), false);
    assert.equal(sameIngress([a], [a, b]), false);
    assert.equal(sameIngress([a], []), false);
    assert.equal(sameIngress([{ hostname: 'x' }], [{ hostname: 'y' }]), false);
    assert.equal(sameIngress([{ hostname: 'x' }], [{ hostname: 'x' }]), true);
  });
});
