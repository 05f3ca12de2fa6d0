import type { Logger } from '../observability/logger.ts';
import type { Answer } from './exchange.ts';

export interface TracedCall {
  readonly method: string;
  readonly route: string;
  /** HTTP status, or the code of the error when there was no answer. */
  readonly code: number | string;
  readonly durationMs: number;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string | undefined;
  readonly answer: Answer | undefined;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

/**
 * Writes one line for each request: at debug without, or with HCLOUD_DEBUG at info with headers and bodies. The
 * Authorization header is no part of `requestHeaders`, and the token is taken out of whatever echoes it.
 */
export const createTrace =
  (logger: Logger, full: boolean) =>
  (call: TracedCall): void => {
    const level = full ? 'info' : 'debug';
    if (!logger.isEnabled(level)) return;
    const { method, route, code, durationMs, answer, redact } = call;
    const fields = { method, route, statusCode: code, correlationID: answer?.headers['x-correlation-id'], durationMs };
    if (!full) {
      logger.debug('Called Hetzner API', fields);
      return;
    }
    logger.info('Called Hetzner API', {
      ...fields,
      headers: {
        request: { ...call.requestHeaders, authorization: '[redacted]' },
        answer: JSON.parse(redact(JSON.stringify(answer?.headers ?? {}))),
      },
      body: { request: redact(call.requestBody ?? ''), answer: redact(answer?.text ?? '') },
    });
  };
