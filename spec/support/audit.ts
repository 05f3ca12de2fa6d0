import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What `npm audit --json` came to. */
export interface AuditVerdict {
  /** False where a vulnerability is known. */
  readonly passed: boolean;
  readonly text: string;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const parse = (output: string): Record<string, unknown> => {
  try {
    const parsed: unknown = JSON.parse(output);
    return isRecord(parsed) ? parsed : {};
  } catch {
    return {};
  }
};

/** Judges the output: a registry that answers no audits is a note, a finding is a failure. */
export function judge(output: string): AuditVerdict {
  const report = parse(output);
  if (!isRecord(report.vulnerabilities)) {
    const reason = typeof report.message === 'string' ? report.message : 'no report';
    return { passed: true, text: `NOTE: dependencies were not audited, the registry answers no audits: ${reason}` };
  }
  const found = Object.entries(report.vulnerabilities).map(
    ([name, one]) => `${name}: ${isRecord(one) ? `${one.severity}, versions ${one.range}` : 'vulnerable'}`,
  );
  return found.length === 0
    ? { passed: true, text: 'No known vulnerability in the dependencies' }
    : { passed: false, text: `Known vulnerabilities in the dependencies:\n${found.join('\n')}` };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { stdout } = spawnSync('npm', ['audit', '--json', '--fetch-retries=1', '--fetch-timeout=20000'], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  const { passed, text } = judge(stdout ?? '');
  process.stdout.write(`${text}\n`);
  process.exitCode = passed ? 0 : 1;
}
