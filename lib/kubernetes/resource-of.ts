/**
 * The resource a REST path speaks of, without names, for metrics and logs: `nodes`, `nodes/status`, `leases`.
 * `unknown` for what is not an API path.
 */
export const resourceOf = (path: string): string => {
  const parts = path.split('/').filter(part => part !== '');
  // /api/v1/... or /apis/group/version/...
  let at = parts[0] === 'api' ? 2 : parts[0] === 'apis' ? 3 : -1;
  if (at < 0) return 'unknown';
  // namespaces/NAME/resource/...; namespaces/NAME alone is the namespace itself.
  if (parts[at] === 'namespaces' && parts.length > at + 2) at += 2;
  const resource = parts[at];
  if (resource === undefined) return 'unknown';
  const subresource = parts[at + 2];
  return subresource === undefined ? resource : `${resource}/${subresource}`;
};
