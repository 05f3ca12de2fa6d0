import { complain } from './observability/stdout.ts';
import { explain, print } from './print.ts';
import { versionLine } from './version.ts';

type Command = (argv: readonly string[]) => Promise<number>;

const run: Command = async argv => (await import('./run-command.ts')).runCommand(argv);

/** The process edge: picks the command, turns what it returns into the exit code. Without a command the controller runs. */
const commands: Readonly<Record<string, Command>> = {
  run,
  plan: async argv => (await import('./plan-command.ts')).planCommand(argv),
  demo: async argv => (await import('./simulator/demo-command.ts')).demoCommand(argv),
  version: async () => {
    print(`${versionLine}\n`);
    return 0;
  },
  help: ([name = '']) => (commandOf(name) ?? run)(['--help']),
};

const commandOf = (name: string): Command | undefined => (Object.hasOwn(commands, name) ? commands[name] : undefined);

const [first = '', ...rest] = process.argv.slice(2);
const isCommand = first !== '' && !first.startsWith('-');
const command = isCommand ? commandOf(first) : run;

async function main(): Promise<number> {
  if (command === undefined) {
    complain(`Unknown command ${JSON.stringify(first)}; there are ${Object.keys(commands).join(', ')}`);
    return 1;
  }
  try {
    return await command(isCommand ? rest : process.argv.slice(2));
  } catch (err) {
    explain(err);
    return 1;
  }
}

void main().then(code => {
  process.exitCode = code;
});
