import { createFakeHetzner, type FakeHetzner, type FakeHetznerOptions } from '../../../lib/simulator/hetzner/fake.ts';
import { type FakeAnswer, toRequest } from '../../../lib/simulator/hetzner/wire.ts';
import { checkContract } from './contract.ts';

/** JSON of an answer, read without ceremony: specs compare it at once. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes, asserted on by the specs
export type Json = any;

export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
  /** Error code, if the answer is an error. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly answer: FakeAnswer;
}

export interface Project {
  readonly fake: FakeHetzner;
  /** One request with the right token, in virtual time; a declared operation is checked against the OpenAPI document. */
  call(method: string, target: string, body?: unknown, headers?: Record<string, string>): Got;
  get(target: string): Got;
  post(target: string, body?: unknown): Got;
  /** Lets ms pass. */
  pass(ms: number): void;
  now(): number;
}

export const start = Date.parse('2026-03-01T12:00:00Z');

/** A fake in virtual time. */
export function project(options: FakeHetznerOptions = {}): Project {
  let at = start;
  const fake = createFakeHetzner({ now: () => at, ...options });
  const call: Project['call'] = (method, target, body, headers = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = fake.handle(
      toRequest(method, `/v1${target}`, {
        headers: { authorization: `Bearer ${fake.settings.token}`, 'user-agent': 'spec', ...headers },
        body: text,
      }),
    );
    const parsed: Json = answer.headers['Content-Type']?.startsWith('application/json')
      ? JSON.parse(answer.body)
      : answer.body;
    const entry = fake.requests.at(-1);
    if (entry !== undefined && entry.fault === undefined) checkContract(method, entry.route, answer.status, parsed);
    return {
      status: answer.status,
      headers: answer.headers,
      body: parsed,
      code: parsed?.error?.code,
      message: parsed?.error?.message,
      answer,
    };
  };
  return {
    fake,
    call,
    get: target => call('GET', target),
    post: (target, body) => call('POST', target, body),
    pass: ms => {
      at += ms;
    },
    now: () => at,
  };
}
