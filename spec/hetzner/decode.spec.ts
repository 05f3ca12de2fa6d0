import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DecodeError, decodeAction, decodeNetwork, decodeServer } from '../../lib/hetzner/decode.ts';

const server = {
  id: 42,
  name: 'w1',
  status: 'running',
  server_type: { id: 1, name: 'cpx31' },
  location: { id: 1, name: 'fsn1', network_zone: 'eu-central' },
  public_net: { ipv4: { ip: '203.0.113.7', blocked: false }, ipv6: { ip: '2001:db8:7::/64', dns_ptr: null } },
  private_net: [{ network: 9, ip: '10.0.0.3', alias_ips: ['10.0.0.9'], mac_address: '86:00:ff:00:00:01' }],
  image: null,
};

describe('a server', () => {
  it('is read with what the controllers need', () => {
    assert.deepEqual(decodeServer(server), {
      id: 42,
      name: 'w1',
      status: 'running',
      type: 'cpx31',
      location: 'fsn1',
      ipv4: '203.0.113.7',
      ipv6: '2001:db8:7::1',
      privateNets: [{ network: 9, ip: '10.0.0.3', aliasIPs: ['10.0.0.9'] }],
    });
  });

  it('BUG-006: needs no datacenter, and has defaults for all but id and name', () => {
    assert.deepEqual(decodeServer({ id: 1, name: 'a' }), {
      id: 1,
      name: 'a',
      status: 'unknown',
      type: '',
      location: '',
      ipv4: undefined,
      ipv6: undefined,
      privateNets: [],
    });
  });

  it('never has an empty or null address', () => {
    for (const public_net of [
      null,
      { ipv4: null, ipv6: null },
      { ipv4: { ip: '' }, ipv6: { ip: null } },
      { ipv4: { ip: 'null' } },
    ]) {
      const { ipv4, ipv6 } = decodeServer({ ...server, public_net });
      assert.deepEqual([ipv4, ipv6], [undefined, undefined]);
    }
    assert.deepEqual(
      decodeServer({ ...server, private_net: [{ network: 9, ip: '' }, null, { ip: '10.0.0.1' }] }).privateNets,
      [],
    );
  });

  it('without id or name is not trusted', () => {
    for (const broken of [
      null,
      'x',
      [],
      {},
      { id: '1', name: 'a' },
      { id: 1 },
      { id: 1, name: '' },
      { id: 1.5, name: 'a' },
    ]) {
      assert.throws(() => decodeServer(broken), DecodeError);
    }
  });

  it('of any shape is read or refused, and never crashes', () => {
    fc.assert(
      fc.property(
        fc.record({ public_net: fc.jsonValue(), private_net: fc.jsonValue(), location: fc.jsonValue() }),
        fields => {
          assert.equal(decodeServer({ ...fields, id: 1, name: 'a' }).id, 1);
        },
      ),
    );
  });
});

describe('a network', () => {
  const network = {
    id: 9,
    name: 'n',
    ip_range: '10.0.0.0/8',
    routes: [{ destination: '10.244.0.0/24', gateway: '10.0.0.3' }],
    servers: [42],
  };

  it('is read with its routes and servers', () => {
    assert.deepEqual(decodeNetwork(network), {
      id: 9,
      name: 'n',
      ipRange: '10.0.0.0/8',
      routes: [{ destination: '10.244.0.0/24', gateway: '10.0.0.3' }],
      servers: [42],
    });
  });

  it('without readable routes is not trusted: they would all be written again', () => {
    assert.throws(() => decodeNetwork({ ...network, routes: undefined }), DecodeError);
    assert.throws(() => decodeNetwork({ ...network, routes: [{ destination: '10.244.0.0/24' }] }), DecodeError);
  });
});

describe('an action', () => {
  it('is read with its error only when it failed', () => {
    const error = { code: 'action_failed', message: 'Action failed' };
    assert.equal(decodeAction({ id: 1, command: 'add_route', status: 'success', error }).error, undefined);
    assert.deepEqual(decodeAction({ id: 1, command: 'add_route', status: 'error', error }).error, error);
    assert.deepEqual(decodeAction({ id: 1, status: 'error', error: null }).error, error);
  });

  it('in an unknown state is running', () => assert.equal(decodeAction({ id: 1, status: 'paused' }).status, 'running'));

  it('says how long it took, once it has ended', () => {
    const started = '2026-01-30T23:55:00+00:00';
    assert.equal(decodeAction({ id: 1, status: 'success', started, finished: '2026-01-30T23:55:02Z' }).took, 2_000);
    assert.equal(decodeAction({ id: 1, status: 'running', started, finished: null }).took, undefined);
    assert.equal(decodeAction({ id: 1, status: 'success', started: 'x' }).took, undefined);
  });

  it('without an id is not trusted', () => assert.throws(() => decodeAction({ status: 'success' }), DecodeError));
});
