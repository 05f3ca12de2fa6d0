import type { Fault } from './faults.ts';
import type { Draft } from './surface.ts';
import type { FakeAnswer } from './wire.ts';

/** How a fault changes what arrives. */

/** The whole answer of a fault that keeps the request from the API, or undefined. */
export function answerInstead(fault: Fault | undefined): Draft | undefined {
  switch (fault?.kind) {
    case 'hang':
    case 'reset':
      return { status: 0, headers: {}, body: '' };
    case 'html': {
      const body = `<html>\r\n<head><title>${fault.status}</title></head>\r\n<body><h1>${fault.status}</h1></body>\r\n</html>\r\n`;
      return { status: fault.status, headers: { 'Content-Type': 'text/html' }, body };
    }
    case 'redirect':
      return { status: fault.status ?? 302, headers: { Location: fault.location }, body: '' };
    default:
      return undefined;
  }
}

function rewritten(draft: Draft, fault: Extract<Fault, { kind: 'rewrite' }>): Draft {
  const all = { ...draft.headers };
  for (const [name, value] of Object.entries(fault.headers ?? {})) {
    for (const key of Object.keys(all)) if (key.toLowerCase() === name.toLowerCase()) delete all[key];
    if (value !== undefined) all[name] = value;
  }
  const parsed: unknown = draft.body === '' ? undefined : JSON.parse(draft.body);
  const body = fault.body === undefined ? draft.body : fault.body(parsed);
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  return { ...draft, status: fault.status ?? draft.status, headers: all, body: text };
}

/** The answer as it leaves: `delay` is the usual one in ms. */
export function dispose(draft: Draft, fault: Fault | undefined, delay: number): FakeAnswer {
  const { status, headers, body } = draft;
  const answer = { status, headers, body };
  switch (fault?.kind) {
    case 'hang':
    case 'lost-after-effect':
      return { ...answer, disposition: { kind: 'hang' } };
    case 'reset':
    case 'reset-after-effect':
      return { ...answer, disposition: { kind: 'reset', delay } };
    case 'truncated':
      return { ...answer, disposition: { kind: 'truncate', delay } };
    case 'slow':
      return { ...answer, disposition: { kind: 'send', delay: delay + fault.ms } };
    case 'wrong-type':
      return {
        ...answer,
        headers: { ...headers, 'Content-Type': fault.contentType ?? 'text/plain' },
        disposition: { kind: 'send', delay },
      };
    case 'rewrite': {
      const { status, headers, body } = rewritten(draft, fault);
      return { status, headers, body, disposition: { kind: 'send', delay } };
    }
    default:
      return { ...answer, disposition: { kind: 'send', delay } };
  }
}
