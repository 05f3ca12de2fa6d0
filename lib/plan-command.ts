import { readFileSync } from 'node:fs';
import { fatal, openAccess, secretsOf } from './access.ts';
import { createClients } from './clients.ts';
import { FatalError } from './fatal-error.ts';
import { HetznerError } from './hetzner/errors.ts';
import { readsOf } from './hetzner/reads.ts';
import { KubeError } from './kubernetes/errors.ts';
import { readerOf } from './kubernetes/reader.ts';
import { createMetrics } from './observability/metrics.ts';
import { complain, writeLine } from './observability/stdout.ts';
import { createLogger } from './observability/winston-logger.ts';
import { observe, type Readers } from './plan/observe.ts';
import { planAll } from './plan/plan.ts';
import { planDocument, renderPlans, renderSummary, summaryOf } from './plan/render.ts';
import { print } from './print.ts';
import { requestedAnswer } from './settings/arguments.ts';
import { parseBoolean } from './settings/go-values.ts';
import { loadSettings } from './settings/load.ts';
import { quote } from './settings/quote.ts';
import { renderHelp } from './settings/reference.ts';
import type { Settings } from './settings/settings.ts';
import { systemClock } from './streams/clock.ts';
import { version, versionLine } from './version.ts';

const planHelp = `Usage: hcloud-reactive-controller plan [--json] [settings]

Reads the cluster and the account at Hetzner once and prints what the controllers would change, and why. Writes nothing,
takes no lease and opens no port, so it may run beside a controller, ours or another. Settings are those of the controller.

  --json    print one JSON document

Exit code: 0 nothing would change, 2 something would, 1 it could not be told, or not to the end. Without changes or notes nothing is printed on standard output.

`;

/** The `plan` command: what the controllers would do, without doing it. */
export async function planCommand(argv: readonly string[]): Promise<number> {
  const { asJSON, flags } = takeFormat(argv);
  const answer = requestedAnswer(flags);
  if (answer !== undefined) {
    print(answer === 'help' ? `${planHelp}${renderHelp()}` : `${versionLine}\n`);
    return 0;
  }
  const loaded = loadSettings({ argv: flags, env: process.env, readFile: path => readFileSync(path, 'utf8') });
  if ('errors' in loaded) {
    for (const line of loaded.errors) complain(line);
    return 1;
  }
  const { settings, report } = loaded;
  const secrets = secretsOf(settings);
  const write = (line: string): void => writeLine(line, 2);
  const logger = createLogger({ level: settings.log.level, secrets: () => [...secrets], write });
  for (const { msg, fields } of report.warnings) logger.warn(msg, fields);
  const { readers, close } = await openReaders(settings, logger, secrets);
  try {
    const observed = await observe(settings, readers, new AbortController().signal);
    const plans = planAll(settings, observed);
    const text = asJSON
      ? `${JSON.stringify(planDocument(observed, plans, version), undefined, 2)}\n`
      : renderPlans(plans);
    print(text);
    complain(renderSummary(observed, plans));
    return summaryOf(plans).total === 0 ? 0 : 2;
  } catch (err) {
    if (err instanceof HetznerError)
      fatal(new Error(`Hetzner ${err.api} API: ${err.method} ${err.route}: ${err.message}`));
    if (err instanceof KubeError) fatal(new Error(`Kubernetes API server: ${err.message}`));
    throw err;
  } finally {
    await close();
  }
}

/** Takes `--json` out of the command line, which is a boolean as those of the settings are; the rest is settings. */
function takeFormat(argv: readonly string[]): { readonly asJSON: boolean; readonly flags: readonly string[] } {
  const given = argv.filter(argument => /^--json(?:=|$)/.test(argument));
  const values = given.map(argument => {
    const text = argument === '--json' ? 'true' : argument.slice('--json='.length);
    const parsed = parseBoolean(text);
    if ('allowed' in parsed) throw new FatalError(`--json=${quote(text)} is invalid: ${parsed.allowed} (set by flag)`);
    return parsed.value;
  });
  return { asJSON: values.at(-1) ?? false, flags: argv.filter(argument => !given.includes(argument)) };
}

/** The only place that sees clients which could write: what leaves it can't. */
async function openReaders(
  settings: Settings,
  logger: Readers['logger'],
  secrets: Set<string>,
): Promise<{ readonly readers: Readers; close(): Promise<void> }> {
  const clock = systemClock;
  const access = await openAccess({ settings, clock, logger, secrets });
  const { hetzner, robot, client } = createClients({ ...access, settings, clock, logger, metrics: createMetrics() });
  return {
    readers: { kube: readerOf(client), hetzner: readsOf(hetzner), robot, clock, logger },
    close: async () => {
      await Promise.all([client.close(), hetzner.close()]);
    },
  };
}
