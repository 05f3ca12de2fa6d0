import type { Logger } from '../observability/logger.ts';
import { classOf, isReadOnlyToken } from './errors.ts';
import type { Call } from './retry.ts';

/** What helps against a token that can only read. */
export const readWrite = 'create an API token with the permissions Read & Write';

/**
 * Tells of a token that was good and is refused now, once until it is accepted again: all that fails because of it says so
 * too, but where the failure shows. Reads and writes apart, as a token may be good for reading only. At the start it is
 * silent: a wrong token ends the process with a message of its own.
 */
export const reportRefusals = (call: Call, logger: Logger, onChange?: (refusal: unknown) => void): Call => {
  const setting = 'HCLOUD_TOKEN';
  const refused = new Set<boolean>();
  let accepted = false;
  return async (request, o) => {
    const reads = request.method === 'GET';
    try {
      const answer = await call(request, o);
      accepted = true;
      if (refused.delete(reads)) {
        logger.info('Got the token accepted by Hetzner again', { setting });
        if (refused.size === 0) onChange?.(undefined);
      }
      return answer;
    } catch (err) {
      if (accepted && classOf(err) === 'unauthorized' && !refused.has(reads)) {
        refused.add(reads);
        if (isReadOnlyToken(err)) {
          logger.error('Had a change refused by Hetzner, as the token can only read', {
            setting,
            hint: readWrite,
            err,
          });
        } else logger.error('Had the token refused by Hetzner', { setting, err });
        onChange?.(err);
      }
      throw err;
    }
  };
};
