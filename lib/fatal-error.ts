/** The process cannot do its work and waiting will not help: it ends with this message, without a stack trace. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
}
