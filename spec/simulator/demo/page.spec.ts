import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { element, text } from '../../../lib/simulator/demo/markup.ts';
import { renderPage } from '../../../lib/simulator/demo/page.ts';
import { segmentsOf, tickOf, timeline } from '../../../lib/simulator/demo/timeline.ts';
import { observed } from './observed.ts';

const size = { width: 1_000, labels: 100 };

/** Elements that were opened and not closed, in a page whose elements all are. */
function openElements(page: string): string[] {
  const open: string[] = [];
  const isVoid = /^(meta|!doctype)$/i;
  for (const [, end, name = ''] of page.matchAll(/<(\/?)([a-z!][a-z0-9]*)[^>]*>/gi)) {
    if (isVoid.test(name)) continue;
    if (end === '') open.push(name);
    else assert.equal(open.pop(), name);
  }
  return open;
}

describe('the page of the demo', () => {
  it('needs nothing beside it: no script, no link, no address', () => {
    const page = renderPage(observed(), 'version');
    assert.doesNotMatch(page, /<script|<link|<img|https?:|url\(|@import|javascript:/);
    assert.match(page, /^<!doctype html>\n<html lang="en"><head><meta charset="utf-8">/);
    assert.deepEqual(openElements(page), []);
  });

  it('is light and dark, and has each picture for the desk and for the phone', () => {
    const page = renderPage(observed(), 'version');
    assert.match(page, /prefers-color-scheme: dark/);
    assert.match(page, /@media \(max-width: 760px\)/);
    assert.equal(page.match(/<div class="desk"><svg /g)?.length, 2);
    assert.equal(page.match(/<div class="phone"><svg /g)?.length, 2);
  });

  it('leaves comparisons out where the work was not the same', () => {
    assert.match(renderPage(observed(), 'version'), /<small>peer 26<\/small>/);
    assert.doesNotMatch(renderPage(observed({ workers: 3 }), 'version'), /<small>/);
  });

  it('tells apart what was read, changed and looked after', () => {
    const svg = timeline(observed(), size);
    const circles = [...svg.matchAll(/<circle class="(\w+)"[^>]*><title>([^<]*)/g)].map(
      ([, kind, hint]) => `${kind} ${hint}`,
    );
    assert.deepEqual(circles, [
      'read GET /networks answered 200 at 0.10 s',
      'read GET /servers answered 200 at 0.11 s',
      'write POST /networks/{id}/actions/add_route answered 201 at 0.20 s',
      'write POST /networks/{id}/actions/add_route answered 423 at 1.60 s',
      'poll GET /actions answered 200 at 0.70 s',
    ]);
  });

  it('puts everything where its time is', () => {
    const svg = timeline(observed(), size);
    // 21.5 s over 888 px from 100 on.
    const at = (ms: number): string => String(Math.round((100 + (ms / 21_500) * 888) * 100) / 100);
    assert.ok(svg.includes(`cx="${at(1_600)}"`));
    assert.ok(svg.includes(`<rect class="available" x="${at(2_300)}"`), svg);
    assert.ok(svg.includes('<text x="') && svg.includes('>20 s</text>'));
  });

  it('gives a step no length that was over before the one before it', () => {
    const journey = { name: 'w', podCIDR: '', joined: 10, initialised: 50, routed: 40, available: 90 };
    assert.deepEqual(
      segmentsOf(journey).map(({ from, to }) => [from, to]),
      [
        [10, 50],
        [50, 50],
        [50, 90],
      ],
    );
  });

  it('has about as many marks as are asked for, at round times', () => {
    assert.deepEqual([tickOf(22, 12), tickOf(22, 5), tickOf(0.7, 8), tickOf(400, 12)], [2, 5, 0.1, 50]);
  });

  it('shows text as text', () => {
    assert.equal(element('b', { title: '"&' }, text('<i>&')), '<b title="&quot;&amp;">&lt;i&gt;&amp;</b>');
  });
});
