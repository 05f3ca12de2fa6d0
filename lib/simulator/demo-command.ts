import { systemClock } from '../streams/clock.ts';
import { version, versionLine } from '../version.ts';
import { runCourse } from './demo/course.ts';
import { demoHelp, parseDemoOptions } from './demo/options.ts';
import { renderReport } from './demo/report.ts';
import { demoDocument } from './demo/result.ts';
import { createScreen } from './demo/screen.ts';

/** Exit codes of shells for programs that a signal ended. */
const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** The `demo` command: the controller between a simulated Hetzner and a simulated Kubernetes. */
export async function demoCommand(argv: readonly string[]): Promise<number> {
  const options = parseDemoOptions(argv);
  if (options === 'help') {
    process.stdout.write(demoHelp);
    return 0;
  }
  const screen = createScreen(options.json ? process.stderr : process.stdout, systemClock.monotonic());
  for (const [signal, code] of Object.entries(signals)) {
    process.once(signal, () => {
      screen.close();
      // The controller goes with this process.
      process.exit(code);
    });
  }
  // A reader that went away, such as `head`, ends the demo.
  process.stdout.on('error', () => process.exit(1));
  screen.say(`Demo of ${versionLine}: Hetzner and Kubernetes are simulated on loopback`, 'dim');
  const seen = await runCourse(options, screen);
  process.stdout.write(
    options.json ? `${JSON.stringify(demoDocument(seen, version), undefined, 2)}\n` : `\n${renderReport(seen)}`,
  );
  return 0;
}
