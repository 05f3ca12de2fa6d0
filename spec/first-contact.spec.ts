import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { FatalError } from '../lib/fatal-error.ts';
import { type Contact, firstContact } from '../lib/first-contact.ts';
import { createServerList } from '../lib/hetzner/server-list.ts';
import type { CallOptions, Network } from '../lib/hetzner/types.ts';
import type { Settings } from '../lib/settings/settings.ts';
import { hetznerError, listen, memoryLogger, virtualClock, virtualTime } from './hetzner/support.ts';

const network: Network = { id: 7, name: 'k8s', ipRange: '10.0.0.0/8', routes: [], servers: [] };

interface World {
  readonly wanted?: string | undefined;
  readonly attachedCheck?: boolean;
  readonly metadataEndpoint?: string;
  /** What each read of the network gives in turn; the last one stays. */
  readonly networks?: readonly (Network | undefined | Error)[];
  readonly servers?: readonly (Error | undefined)[];
}

const setUp = ({ wanted, attachedCheck = false, metadataEndpoint = 'http://127.0.0.1:1', ...world }: World) => {
  const networks = [...(world.networks ?? [network])];
  const servers = [...(world.servers ?? [undefined])];
  const asked: { readonly what: string; readonly priority: string }[] = [];
  const instants: number[] = [];
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift() : list[0]) as T;
  const logger = memoryLogger();
  const contact$ = firstContact({
    settings: {
      hcloud: { network: wanted, networkAttachedCheck: attachedCheck, metadataEndpoint },
      serverCache: { mode: 'all', maxAge: 10_000 },
    } as unknown as Settings,
    cloud: {
      findNetwork: async (idOrName, { priority }) => {
        asked.push({ what: idOrName, priority });
        const answer = next(networks);
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    servers: {
      notBefore: async (instant: number, { priority }: CallOptions) => {
        asked.push({ what: 'servers', priority });
        instants.push(instant);
        const err = next(servers);
        if (err !== undefined) throw err;
        return createServerList([], instant);
      },
    },
    clock: virtualClock,
    logger,
    backoff: attempt => 1_000 * 2 ** attempt,
  });
  return { contact$, asked, instants, lines: logger.lines };
};

const start = (t: TestContext, world: World) => {
  const time = virtualTime(t);
  const w = setUp(world);
  const got: { contact?: Contact; err?: unknown } = {};
  const subscription = w.contact$.subscribe({
    next: contact => Object.assign(got, { contact }),
    error: err => Object.assign(got, { err }),
  });
  t.after(() => subscription.unsubscribe());
  return { ...w, time, got, subscription };
};

const unauthorized = hetznerError({ status: 401, code: 'unauthorized', message: 'unable to authenticate' });

describe('the first contact of a term', () => {
  it('reads servers and the network side by side, and dates the network by the sending of its request', async t => {
    const { time, got, asked, instants } = start(t, { wanted: 'k8s' });
    const at = Date.now();
    await time.settle();
    assert.deepEqual(got, { contact: { network: { value: network, requestedAt: at } } });
    assert.deepEqual(asked, [
      { what: 'k8s', priority: 'initialise' },
      { what: 'servers', priority: 'initialise' },
    ]);
    assert.deepEqual(instants, [at - 10_000]);
  });

  it('reads the servers alone where no network is wanted', async t => {
    const { time, got, asked } = start(t, {});
    await time.settle();
    assert.deepEqual(got, { contact: { network: undefined } });
    assert.deepEqual(
      asked.map(({ what }) => what),
      ['servers'],
    );
  });

  it('waits out what passes by, ever longer, with a warning each time', async t => {
    const down = hetznerError();
    const { time, got, lines } = start(t, {
      wanted: 'k8s',
      networks: [down, network],
      servers: [undefined, down, down, undefined],
    });
    await time.advance(6_900, 100);
    assert.deepEqual(got, {});
    await time.advance(200, 100);
    assert.ok(got.contact !== undefined);
    assert.deepEqual(
      lines.map(({ level, msg, fields }) => [level, msg, fields.after]),
      [1_000, 2_000, 4_000].map(after => ['warn', 'Failed to reach Hetzner, will try again', after]),
    );
  });

  it('ends the process where waiting cannot help: a refused token, no such network', async () => {
    for (const [world, message] of [
      [{ servers: [unauthorized] }, /^HCLOUD_TOKEN: Hetzner refused the token: unable to authenticate/],
      [{ wanted: 'k8s', networks: [unauthorized] }, /^HCLOUD_TOKEN/],
      [{ wanted: 'k8s', networks: [undefined] }, /^HCLOUD_NETWORK: no network with the name or id "k8s"/],
    ] as const) {
      const { contact$, lines } = setUp(world);
      const err = await new Promise(resolve => contact$.subscribe({ error: resolve }));
      assert.ok(err instanceof FatalError);
      assert.match(err.message, message);
      assert.deepEqual(lines, []);
    }
  });

  it('does not take an answer it did not get for a missing network or a wrong token (BUG-015)', async t => {
    for (const [code, status] of [
      ['forbidden', 403],
      ['http_404', 404],
      ['invalid_response', 200],
      ['timeout', 0],
    ] as const) {
      const { got, time, subscription } = start(t, { wanted: 'k8s', networks: [hetznerError({ code, status })] });
      await time.advance(500, 100);
      assert.deepEqual(got, {}, code);
      subscription.unsubscribe();
      t.mock.timers.reset();
    }
  });

  it('stops trying when the term ends', async t => {
    const { time, asked, subscription } = start(t, { servers: [hetznerError()] });
    await time.settle();
    subscription.unsubscribe();
    await time.advance(60_000, 1_000);
    assert.equal(asked.length, 1);
  });
});

describe('the check that this machine is in the network', () => {
  const answering = async (t: TestContext, status: number, body: string) => {
    const { url } = await listen(t, (_request, response) => {
      response.writeHead(status);
      response.end(body);
    });
    return setUp({ wanted: 'k8s', attachedCheck: true, metadataEndpoint: url });
  };
  const result = ({ contact$ }: ReturnType<typeof setUp>) =>
    new Promise<unknown>(resolve => contact$.subscribe({ next: () => resolve('contact'), error: resolve }));

  it('passes where it is, and ends the process with a hint where it is in another one', async t => {
    assert.equal(await result(await answering(t, 200, '- network_id: 7\n  ip: 10.0.1.1\n')), 'contact');
    const err = await result(await answering(t, 200, '- network_id: 8\n  ip: 10.0.1.1\n'));
    assert.ok(err instanceof FatalError);
    assert.match(err.message, /not attached to network k8s \(7\).*HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true/);
  });

  it('is skipped with a warning where nobody tells', async t => {
    const closed = setUp({ wanted: 'k8s', attachedCheck: true });
    const refused = await answering(t, 500, 'x');
    for (const world of [closed, refused]) {
      assert.equal(await result(world), 'contact');
      assert.deepEqual(
        world.lines.map(({ level }) => level),
        ['warn'],
      );
      assert.match(world.lines[0]?.msg ?? '', /Skipped the check/);
    }
  });
});
