import { FatalError } from './fatal-error.ts';
import { versionLine } from './version.ts';

/** The process edge: picks the command, turns what it returns into the exit code. Without a command the controller runs. */
const commands: Readonly<Record<string, (argv: readonly string[]) => Promise<number>>> = {
  run: async argv => (await import('./run-command.ts')).runCommand(argv),
  plan: async argv => (await import('./plan-command.ts')).planCommand(argv),
  demo: async argv => (await import('./simulator/demo-command.ts')).demoCommand(argv),
  version: async () => {
    process.stdout.write(`${versionLine}\n`);
    return 0;
  },
};

const [first = '', ...rest] = process.argv.slice(2);
const isCommand = first !== '' && !first.startsWith('-');
const command = commands[isCommand ? first : 'run'];

async function main(): Promise<number> {
  if (command === undefined) {
    process.stderr.write(`Unknown command ${JSON.stringify(first)}; there are ${Object.keys(commands).join(', ')}\n`);
    return 1;
  }
  try {
    return await command(isCommand ? rest : process.argv.slice(2));
  } catch (err) {
    const text = err instanceof FatalError ? err.message : err instanceof Error ? err.stack : String(err);
    process.stderr.write(`${text}\n`);
    return 1;
  }
}

void main().then(code => {
  process.exitCode = code;
});
