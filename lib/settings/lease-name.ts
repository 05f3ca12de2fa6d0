/** FNV-1a, 32 bits, in hexadecimal. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/**
 * The lease of the instance with that node selector: instances with different selectors do not lock each other out, and
 * replicas with the same one find the same lease. The words of the selector are there for the reader, the hash tells apart.
 */
export function leaseNameFor(name: string, selector: string | undefined): string {
  if (selector === undefined) return name;
  const words = selector
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 30)
    .replaceAll(/^-+|-+$/g, '');
  return [name, words, hashOf(selector)].filter(part => part !== '').join('-');
}
