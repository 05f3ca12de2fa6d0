import assert from 'node:assert/strict';
import { it } from 'node:test';
import { judge } from './audit.ts';

it('fails on a known vulnerability, whatever its severity, and names it', () => {
  const vulnerabilities = { left: { severity: 'low', range: '<1.2.3' } };
  const { passed, text } = judge(JSON.stringify({ auditReportVersion: 2, vulnerabilities }));
  assert.equal(passed, false);
  assert.match(text, /left: low, versions <1\.2\.3/);
});

it('passes without one', () => {
  assert.equal(judge(JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })).passed, true);
});

it('says so where the registry answers no audits, and does not fail', () => {
  for (const output of [
    '',
    'not json',
    'null',
    JSON.stringify({ message: '405 Method Not Allowed - POST https://x' }),
  ]) {
    const { passed, text } = judge(output);
    assert.equal(passed, true);
    assert.match(text, /^NOTE: dependencies were not audited/);
  }
});
