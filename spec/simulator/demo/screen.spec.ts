import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { bar, createScreen, nodeLine } from '../../../lib/simulator/demo/screen.ts';

const journey = { name: 'w1', podCIDR: '', joined: 1_500, initialised: 1_520, routed: 1_530, available: 2_000 };

const recorder = (terminal: { isTTY?: boolean; columns?: number }) => {
  const chunks: string[] = [];
  return {
    ...terminal,
    write: (chunk: string | Uint8Array) => {
      chunks.push(String(chunk));
      return true;
    },
    text: () => chunks.join(''),
  };
};

describe('the screen of the demo', () => {
  it('tells the way of a node in one line', () => {
    assert.equal(
      nodeLine(journey, 1_000),
      'w1   joined at  0.50 s, initialised after 0.02 s, routed after 0.03 s, network available after 0.50 s',
    );
  });

  it('is plain text without a terminal: no status, no control characters', () => {
    const output = recorder({});
    const screen = createScreen(output, 1_000);
    screen.say('Scaling', 'bold');
    screen.status('1/2');
    screen.nodeDone(journey);
    screen.close();
    assert.equal(output.text(), `Scaling\n  ${nodeLine(journey, 1_000)}\n`);
  });

  it('redraws one status line on a terminal, within its width, and leaves the cursor visible at the end', () => {
    const output = recorder({ isTTY: true, columns: 10 });
    const screen = createScreen(output, 1_000);
    screen.status('a long status line');
    screen.status('another long status line');
    screen.say('Done');
    screen.close();
    const text = output.text();
    assert.ok(text.startsWith('\x1b[?25l\r\x1b[2K'), 'the cursor is hidden once');
    assert.equal(text.split('\x1b[?25l').length, 2);
    assert.ok(text.endsWith('\r\x1b[2K\x1b[?25h'));
    const shown = stripVTControlCharacters(text).split('\r');
    assert.ok(
      shown.every(line => [...line.replace(/\n.*/s, '')].length < 10),
      JSON.stringify(shown),
    );
    assert.ok(text.includes('\r\x1b[2KDone\n'), 'the status gives way to a line that stays');
  });

  it('draws progress from nothing to all', () => {
    assert.equal(bar(0, 4), '[----]');
    assert.equal(bar(0.5, 4), '[##--]');
    assert.equal(bar(1, 4), '[####]');
    assert.equal(bar(-1, 4), '[----]');
    assert.equal(bar(2, 4), '[####]');
  });
});
