import { nearestName } from './nearest.ts';
import { quoteName } from './quote.ts';
import type { Warning } from './report.ts';
import { knownVariables } from './table.ts';

/** What to do instead, for variables that the peer or its forks read once. */
const variableHints: Readonly<Record<string, string>> = {
  HCLOUD_SERVER_CACHE_TTL: 'it is called HCLOUD_SERVER_CACHE_MAX_AGE now',
  HCLOUD_USE_HROBOT_PROVIDER_ID_FOR_BAREMETAL: 'both forms of provider ID are understood side by side',
};

/**
 * Whether Kubernetes itself has set the variable: for each Service of the namespace every container gets
 * `<SERVICE>_SERVICE_HOST`, `_SERVICE_PORT[_<NAME>]`, `_PORT` (a URL) and `_PORT_<n>_<PROTOCOL>[_PROTO|_PORT|_ADDR]`.
 */
export function isServiceLink(name: string, value: string): boolean {
  if (/_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$/.test(name)) return true;
  if (/_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value);
}

/** A warning for each variable that looks like ours but is read by nobody. Values are left out, they may be secrets. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): readonly Warning[] {
  return Object.entries(env)
    .filter(([name, value]) => /^(?:HCLOUD|ROBOT)_/.test(name) && value !== undefined && !knownVariables.includes(name))
    .filter(([name, value]) => !isServiceLink(name, value ?? ''))
    .map(([name]) => name)
    .sort()
    .map(name => {
      const nearest = nearestName(name, knownVariables);
      const hint =
        (Object.hasOwn(variableHints, name) ? variableHints[name] : undefined) ??
        (nearest === undefined ? 'no setting has a similar name' : `did you mean ${nearest}?`);
      return { msg: 'Ignored an unknown environment variable', fields: { setting: quoteName(name), hint } };
    });
}
