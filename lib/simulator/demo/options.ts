import { parseArgs } from 'node:util';
import { FatalError } from '../../fatal-error.ts';
import { comparedWork } from './reference.ts';

export interface DemoOptions {
  /** Workers that join. */
  readonly workers: number;
  /** ms between two joins. */
  readonly interval: number;
  /** Seconds of doing nothing at the end. */
  readonly idle: number;
  /** One JSON document on standard output instead of text. */
  readonly json: boolean;
  /** File for a page with the result as a picture. */
  readonly report: string | undefined;
}

/** Options of the scenario `networks`. */
export interface NetworksOptions extends Pick<DemoOptions, 'idle' | 'json'> {
  readonly scenario: 'networks';
}

export const demoHelp = `Usage: hcloud-reactive-controller demo [options]

Runs the controller against a simulated Hetzner Cloud and a simulated Kubernetes API, both on loopback: takes over one
control plane, scales from 0 to 10 workers, then idles. Needs no account and no cluster, and ends by itself.
With --scenario networks: 3 control planes and 250 workers in three networks, from nothing to all routed, then idle, then
without one of the networks. Takes the options --idle (default 10), --full and --json.

  --scenario S    scale-up (default) or networks
  --workers N     workers that join, 1 to 99 (default 10)
  --interval MS   time between two joins in ms (default 2000)
  --idle SECONDS  idle time at the end (default 30)
  --full          idle for 6 minutes, as in the figures the result is compared with
  --json          print one JSON document on standard output; progress goes to standard error
  --report FILE   also write a page (HTML) that shows the result as pictures
  --help          print this text
`;

const types = {
  scenario: { type: 'string' },
  workers: { type: 'string' },
  interval: { type: 'string' },
  idle: { type: 'string' },
  full: { type: 'boolean' },
  json: { type: 'boolean' },
  report: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: types, strict: true, allowPositionals: false }).values;
  } catch (err) {
    throw new FatalError(`${(err as Error).message}\n\n${demoHelp}`, { cause: err });
  }
}

function whole(name: string, text: string | undefined, fallback: number, least: number, most: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (text?.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new FatalError(`--${name}=${text} is invalid: must be a whole number from ${least} to ${most}`);
}

/** Reads the command line of the demo. @throws FatalError with a message for the user */
export function parseDemoOptions(argv: readonly string[]): DemoOptions | NetworksOptions | 'help' {
  const given = parse(argv);
  if (given.help === true) return 'help';
  const { scenario = 'scale-up' } = given;
  if (scenario !== 'scale-up' && scenario !== 'networks')
    throw new FatalError(`--scenario=${scenario} is invalid: must be one of scale-up, networks`);
  if (given.report === '') throw new FatalError('--report needs the name of a file');
  if (given.full === true && given.idle !== undefined)
    throw new FatalError('--full and --idle exclude each other: set only one');
  const idle = (least: number): number =>
    whole('idle', given.idle, given.full === true ? comparedWork.idle : least, 0, 3_600);
  if (scenario === 'networks') {
    const foreign = (['workers', 'interval', 'report'] as const).find(name => given[name] !== undefined);
    if (foreign !== undefined) throw new FatalError(`--${foreign} is no option of the scenario networks`);
    return { scenario, idle: idle(10), json: given.json === true };
  }
  return {
    workers: whole('workers', given.workers, 10, 1, 99),
    interval: whole('interval', given.interval, 2_000, 0, 60_000),
    idle: idle(30),
    json: given.json === true,
    report: given.report,
  };
}
