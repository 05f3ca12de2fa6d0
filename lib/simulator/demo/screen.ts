import { styleText } from 'node:util';
import type { Journey } from './journeys.ts';

/** Where the demo shows what happens. */
export interface Screen {
  /** A line that stays. */
  say(line: string, style?: 'bold' | 'dim'): void;
  nodeDone(journey: Journey): void;
  /** What is going on now: one line that is redrawn on a terminal, nothing elsewhere. */
  status(text: string): void;
  /** Removes the status line. */
  close(): void;
}

export type Output = Pick<NodeJS.WriteStream, 'write'> & { readonly isTTY?: boolean; readonly columns?: number };

const spinner = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const [clearLine, hideCursor, showCursor] = ['\r\x1b[2K', '\x1b[?25l', '\x1b[?25h'];

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

/** `w1  joined at 3.21 s, initialised after 0.05 s, route after 0.07 s, network available after 0.52 s` */
export function nodeLine({ name, joined, initialised = 0, routed = 0, available = 0 }: Journey, start: number): string {
  const steps = [
    `initialised after ${seconds(initialised - joined)}`,
    `routed after ${seconds(routed - joined)}`,
    `network available after ${seconds(available - joined)}`,
  ];
  return `${name.padEnd(4)} joined at ${seconds(joined - start).padStart(7)}, ${steps.join(', ')}`;
}

/** @param start instant that times are counted from, ms of the monotonic clock */
export function createScreen(output: Output, start: number): Screen {
  const terminal = output.isTTY === true;
  let frame = 0;
  let drawn = false;

  const erase = (): void => {
    if (drawn) output.write(clearLine);
  };
  const say: Screen['say'] = (line, style) => {
    erase();
    const stream = output as NodeJS.WriteStream;
    output.write(`${style === undefined || !terminal ? line : styleText(style, line, { stream })}\n`);
  };
  return {
    say,
    nodeDone: journey => say(`  ${nodeLine(journey, start)}`),
    status(text) {
      if (!terminal) return;
      frame = (frame + 1) % spinner.length;
      const line = `${spinner[frame]} ${text}`.slice(0, (output.columns || 80) - 1);
      output.write(`${drawn ? '' : hideCursor}${clearLine}${line}`);
      drawn = true;
    },
    close() {
      if (drawn) output.write(`${clearLine}${showCursor}`);
      drawn = false;
    },
  };
}

/** `[#####---------------]`, `share` from 0 to 1. */
export function bar(share: number, width = 20): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
}
