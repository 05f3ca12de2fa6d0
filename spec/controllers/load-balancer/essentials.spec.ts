import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { essentialsOf } from '../../../lib/controllers/load-balancer/essentials.ts';

describe('the essentials of a listener', () => {
  const http = { cookieName: 'C', certificates: [1] };
  const healthCheck = { protocol: 'http', port: 1, interval: 5, http: { path: '/' } };
  it('are the way to the targets and a health check that finds them', () => {
    assert.deepEqual(
      essentialsOf({ listenPort: 1, destinationPort: 2, protocol: 'https', proxyProtocol: true, http, healthCheck }),
      {
        listenPort: 1,
        destinationPort: 2,
        protocol: 'https',
        proxyProtocol: true,
        http: { certificates: [1] },
        healthCheck: { protocol: 'http', port: 1, http: { path: '/' } },
      },
    );
  });

  it('are nothing when there is nothing else, or nothing of them', () => {
    assert.equal(essentialsOf({ listenPort: 1, destinationPort: 2 }), undefined);
    assert.equal(essentialsOf({ listenPort: 1, destinationPort: 2, http: undefined }), undefined);
    assert.equal(essentialsOf({ listenPort: 1, http: { cookieName: 'C' } }), undefined);
    assert.deepEqual(essentialsOf({ listenPort: 1, destinationPort: 2, http: { cookieName: 'C' } }), {
      listenPort: 1,
      destinationPort: 2,
    });
  });
});
