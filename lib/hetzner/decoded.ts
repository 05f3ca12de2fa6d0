import { DecodeError } from './decode.ts';
import { type HetznerAPI, HetznerError } from './errors.ts';
import { routeOf } from './http.ts';

/** The answer makes no sense; nothing of it may be used. */
export const untrusted = (method: string, path: string, message: string, api: HetznerAPI = 'cloud'): HetznerError =>
  new HetznerError({ api, status: 200, code: 'invalid_response', message, method, route: routeOf(path) });

/** What `decode` reads out of an answer; its DecodeError becomes the HetznerError of an answer that makes no sense. */
export const decoded = <T>(
  method: string,
  path: string,
  decode: (json: unknown) => T,
  json: unknown,
  api: HetznerAPI = 'cloud',
): T => {
  try {
    return decode(json);
  } catch (err) {
    if (err instanceof DecodeError) throw untrusted(method, path, err.message, api);
    throw err;
  }
};
