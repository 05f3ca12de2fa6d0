import { nearestName } from './nearest.ts';
import { quote, quoteName } from './quote.ts';
import { type FlagShape, knownFlags } from './table.ts';
import { type answerFlags, flagHints, upstreamFlags } from './upstream-flags.ts';

export interface Arguments {
  /** Text of each flag that was given, by name. */
  readonly flags: ReadonlyMap<string, string>;
  /** Accepted flags without meaning here, each once. */
  readonly ignored: readonly string[];
  /** One line each; values of unknown flags are left out, they may be secrets. */
  readonly errors: readonly string[];
}

interface Written {
  /** With its dashes, as it was written. */
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
}

/** Splits one argument; undefined where it is not a flag. Dashes and underscores are the same, as upstream's flags normalise them. */
function readFlag(argument: string): Written | undefined {
  if (argument === '-h') return { label: argument, name: 'help', value: undefined };
  const verbosity = /^-v(?:=?(.+))?$/s.exec(argument);
  if (verbosity !== null) return { label: '-v', name: 'v', value: verbosity[1] };
  const [, dashes, name, value] = /^(--?)([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
  if (dashes === undefined || name === undefined) return undefined;
  return { label: `${dashes}${quoteName(name)}`, name: name.replaceAll('_', '-'), value };
}

/** Long flags need two dashes. */
const shapeOf = ({ label, name }: Written): FlagShape | undefined =>
  label.startsWith('--') || label === '-v' || label === '-h' ? knownFlags.get(name) : undefined;

const own = (hints: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(hints, name) ? hints[name] : undefined;

function unknownFlag({ label, name }: Written): string {
  const nearest = nearestName(name, [...knownFlags.keys()]);
  const hint = own(flagHints, name) ?? (nearest === undefined ? 'see --help' : `did you mean --${nearest}?`);
  return `${label} is not a known flag; ${hint} (set by flag)`;
}

/**
 * Reads the command line as pflag does: `--name=value`, `--name value`, bare booleans, `-v=2`; of a flag that is given
 * twice the last one counts, but lists add up. Positional arguments are errors.
 */
export function parseArguments(argv: readonly string[]): Arguments {
  const flags = new Map<string, string>();
  const errors: string[] = [];
  const add = (name: string, shape: FlagShape, value: string): void => {
    const before = flags.get(name);
    flags.set(name, shape.list && before !== undefined ? `${before},${value}` : value);
  };
  let onlyPositional = false;
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    if (argument === '--' && !onlyPositional) {
      onlyPositional = true;
      continue;
    }
    const written = onlyPositional ? undefined : readFlag(argument);
    const shape = written === undefined ? undefined : shapeOf(written);
    if (written === undefined) {
      errors.push(
        `${quote(argument)} is not allowed: only flags are; a boolean is written --name=false (set by argument)`,
      );
    } else if (shape === undefined) {
      errors.push(unknownFlag(written));
      // Its value, if it stands apart, is not a mistake of its own.
      if (written.value === undefined && /^[^-]/.test(argv[index + 1] ?? '')) index++;
    } else if (written.value !== undefined) {
      add(written.name, shape, written.value);
    } else if (shape.bare !== undefined) {
      add(written.name, shape, shape.bare);
    } else if (index + 1 < argv.length) {
      add(written.name, shape, argv[++index] ?? '');
    } else {
      errors.push(`${written.label} has no value: must be ${written.label}=value (set by flag)`);
    }
  }
  return { flags, errors, ignored: [...flags.keys()].filter(name => Object.hasOwn(upstreamFlags, name)) };
}

/** Whether the command line asks for the help text or the version instead of a run. */
export function requestedAnswer(argv: readonly string[]): keyof typeof answerFlags | undefined {
  const { flags } = parseArguments(argv);
  const asked = (name: keyof typeof answerFlags): boolean => flags.has(name) && flags.get(name) !== 'false';
  if (asked('help')) return 'help';
  return asked('version') ? 'version' : undefined;
}
