import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { fatal, openAccess, secretsOf } from './access.ts';
import { createApp } from './app.ts';
import { createClients } from './clients.ts';
import { FatalError } from './fatal-error.ts';
import { createHealth } from './observability/health.ts';
import { startServers } from './observability/http-server.ts';
import { createLogOutput, type LogOutput } from './observability/log-output.ts';
import { createMetrics, type Metrics } from './observability/metrics.ts';
import { complain } from './observability/stdout.ts';
import { createLogger, type RootLogger } from './observability/winston-logger.ts';
import { print } from './print.ts';
import { requestedAnswer } from './settings/arguments.ts';
import { loadSettings } from './settings/load.ts';
import { renderHelp } from './settings/reference.ts';
import type { SettingsReport } from './settings/report.ts';
import type { Settings } from './settings/settings.ts';
import { systemClock } from './streams/clock.ts';
import { version, versionLine } from './version.ts';

const fatalMessage = 'Stopped on an error that waiting cannot mend';

const usage = `Usage: hcloud-reactive-controller [command] [settings]

Commands:
  run      runs the controller; so does no command at all
  plan     prints what the controllers would change, and why, and changes nothing; see plan --help
  demo     shows the controller at work between a simulated Hetzner and a simulated Kubernetes; see demo --help
  version  prints the version
  help     prints this text; help plan and help demo those of these commands

`;

/** Runs the controller until a signal or a fatal error; resolves with the exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  const answer = requestedAnswer(argv);
  if (answer !== undefined) {
    print(answer === 'help' ? `${usage}${renderHelp()}` : `${versionLine}\n`);
    return 0;
  }
  const loaded = loadSettings({ argv, env: process.env, readFile: path => readFileSync(path, 'utf8') });
  if ('errors' in loaded) {
    for (const line of loaded.errors) complain(line);
    return 1;
  }
  const { settings, report } = loaded;
  const secrets = secretsOf(settings);
  const metrics = createMetrics();
  const output = createLogOutput(() => metrics.logLinesLost.inc({}));
  const logger = createLogger({ level: settings.log.level, secrets: () => [...secrets], write: output.write });
  const stopped = listenForSignals(logger, settings);
  logStart(logger, report);
  try {
    return await runController({ settings, logger, output, metrics, secrets, stopped });
  } catch (err) {
    if (!(err instanceof FatalError)) throw err;
    logger.error(fatalMessage, { err: err.message });
    return 1;
  }
}

interface RunDeps {
  readonly settings: Settings;
  readonly logger: RootLogger;
  readonly output: LogOutput;
  readonly metrics: Metrics;
  readonly secrets: Set<string>;
  readonly stopped: Promise<NodeJS.Signals>;
}

async function runController({ settings, logger, output, metrics, secrets, stopped }: RunDeps): Promise<number> {
  const clock = systemClock;

  const access = await openAccess({ settings, clock, logger, secrets });
  metrics.buildInfo.set({ version, node_version: process.versions.node }, 1);
  const { hetzner, client, ...others } = createClients({
    ...access,
    settings,
    clock,
    logger,
    metrics,
  });
  const health = createHealth();
  health.setCheck('log', output.problem, 'health');
  const servers = await startServers({ settings, metrics, health, logger }).catch(fatal);
  const identity = `${hostname()}_${randomUUID()}`;
  const app = createApp({ settings, client, hetzner, ...others, clock, logger, metrics, health, identity });

  const exitCode = await new Promise<number>(resolve => {
    const subscription = app.runs$.subscribe({
      error: err => {
        const fatal = err instanceof FatalError;
        logger.error(fatal ? fatalMessage : 'Stopped on an unexpected error', { err: fatal ? err.message : err });
        resolve(1);
      },
    });
    void stopped.then(signal => {
      logger.info('Received signal, stopping', { signal });
      subscription.unsubscribe();
      resolve(0);
    });
    process.on('unhandledRejection', err => {
      logger.error('Stopped on an unhandled rejection', { err });
      subscription.unsubscribe();
      resolve(1);
    });
  });
  await app.close();
  await Promise.all([servers.close(), client.close(), hetzner.close()]);
  logger.info('Stopped', { exitCode });
  return exitCode;
}

/**
 * Resolves with the signal that asks for the end. Called before anything that takes time: a signal nobody listens for is
 * lost where this is the first process of a container, and the lease with it until it lapses; elsewhere SIGUSR2 kills.
 */
function listenForSignals(logger: RootLogger, settings: Settings): Promise<NodeJS.Signals> {
  process.on('SIGUSR2', () => toggleDebug(logger, settings));
  return new Promise(resolve => {
    process.on('SIGTERM', resolve);
    process.on('SIGINT', resolve);
  });
}

function logStart(logger: RootLogger, report: SettingsReport): void {
  logger.info('Started', { version, nodeVersion: process.versions.node, settings: report.effective });
  for (const { msg, fields } of report.warnings) logger.warn(msg, fields);
  for (const flag of report.ignored) logger.debug('Accepted flag without meaning here', { setting: `--${flag}` });
}

/** The log level changes while running: one SIGUSR2 turns debug on, the next goes back. */
function toggleDebug(logger: RootLogger, settings: Settings): void {
  const normal = settings.log.level === 'debug' ? 'info' : settings.log.level;
  logger.setLevel(logger.level() === 'debug' ? normal : 'debug');
  logger.info('Changed log level', { setting: 'log-level', reason: logger.level() });
}
