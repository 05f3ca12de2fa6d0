import { closeSync, openSync, writeFileSync } from 'node:fs';
import { FatalError } from '../fatal-error.ts';
import { explain, print, printError } from '../print.ts';
import { systemClock } from '../streams/clock.ts';
import { version, versionLine } from '../version.ts';
import { runCourse } from './demo/course.ts';
import { runNetworks } from './demo/networks/course.ts';
import { renderNetworksReport } from './demo/networks/report.ts';
import { networksDocument } from './demo/networks/result.ts';
import { type DemoOptions, demoHelp, type NetworksOptions, parseDemoOptions } from './demo/options.ts';
import { renderPage } from './demo/page.ts';
import { renderReport } from './demo/report.ts';
import { demoDocument } from './demo/result.ts';
import { createScreen, type Screen } from './demo/screen.ts';

/** Exit codes of shells for programs that a signal ended. */
const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Found out before the demo has run. @throws FatalError where the file can't be written */
function checkWritable(path: string): void {
  try {
    closeSync(openSync(path, 'a'));
  } catch (err) {
    throw new FatalError(`--report: ${(err as Error).message}`, { cause: err });
  }
}

/** The `demo` command: the controller between a simulated Hetzner and a simulated Kubernetes. */
export async function demoCommand(argv: readonly string[]): Promise<number> {
  const options = parseDemoOptions(argv);
  if (options === 'help') {
    print(demoHelp);
    return 0;
  }
  const report = 'report' in options ? options.report : undefined;
  if (report !== undefined) checkWritable(report);
  const screen = createScreen(options.json ? process.stderr : process.stdout, systemClock.monotonic());
  for (const [signal, code] of Object.entries(signals)) {
    process.once(signal, () => {
      screen.close();
      // The controller goes with this process.
      process.exit(code);
    });
  }
  // A reader that went away, such as `head`, ends the demo, and so does a full disk.
  process.stdout.on('error', err => {
    explain(printError(err));
    process.exit(1);
  });
  screen.say(`Demo of ${versionLine}: Hetzner and Kubernetes are simulated on loopback`, 'dim');
  const { document, text } = 'scenario' in options ? await networks(options, screen) : await scaleUp(options, screen);
  process.stdout.write(options.json ? `${JSON.stringify(document, undefined, 2)}\n` : `\n${text}`);
  return 0;
}

/** The end of a demo, in both forms. */
interface Ending {
  readonly document: unknown;
  readonly text: string;
}

async function scaleUp(options: DemoOptions, screen: Screen): Promise<Ending> {
  const seen = await runCourse(options, screen);
  if (options.report !== undefined) {
    writeFileSync(options.report, renderPage(seen, versionLine));
    screen.say(`Wrote ${options.report}`, 'dim');
  }
  return { document: demoDocument(seen, version), text: renderReport(seen) };
}

async function networks(options: NetworksOptions, screen: Screen): Promise<Ending> {
  const seen = await runNetworks(options, screen);
  return { document: networksDocument(seen, version), text: renderNetworksReport(seen) };
}
