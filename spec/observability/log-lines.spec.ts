import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reconcileID } from '../../lib/observability/reconcile-id.ts';
import { logKeysReference, metricsReference } from '../support/docs-observability.ts';
import { assertKnownKeys, parseLogLines } from '../support/log-lines.ts';

const head = '{"ts":"2026-01-01T00:00:00.123Z","level":"info","msg":"Created route"';

describe('log line assertions', () => {
  it('accept a good line and give its content', () => {
    assert.equal(assertKnownKeys(`${head},"node":"a"}`).node, 'a');
    assert.equal(parseLogLines(`${head}}\n${head}}\n`).length, 2);
  });

  it('refuse unknown keys, a wrong head, a full stop and secrets', () => {
    assert.throws(() => assertKnownKeys(`${head},"nodeName":"a"}`), /not in log-keys/);
    assert.throws(() => assertKnownKeys('{"level":"info","ts":"2026-01-01T00:00:00.123Z","msg":"A b"}'), /starts with/);
    assert.throws(() => assertKnownKeys(`${head.slice(0, -1)}."}`), /full stop/);
    assert.throws(() => assertKnownKeys('plain text'), SyntaxError);
    assert.throws(() => parseLogLines([`${head},"node":"s3cret"}`], ['s3cret']), /secret in the log/);
  });
});

describe('references for the docs', () => {
  it('have a row for each metric and each key', () => {
    assert.match(metricsReference(), /^\| Metric \| Type \| Labels \| Meaning \|\n/);
    assert.match(
      metricsReference(),
      /\| `hcloud_api_requests_total` \| counter \| `code`, `method`, `api_endpoint` \| Requests to the Hetzner API \|\n/,
    );
    assert.match(logKeysReference(), /\| `providerID` \| provider ID of the Node \|\n/);
  });
});

describe('reconcile id', () => {
  it('is 8 hex characters and differs from run to run', () => {
    const ids = Array.from({ length: 100 }, reconcileID);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}$/);
    assert.equal(new Set(ids).size, 100);
  });
});
