import { isIPv6 } from 'node:net';

/**
 * First host address of an IPv6 network as Hetzner writes it ("2001:db8::/64" gives "2001:db8::1"), in canonical form.
 * Any legal text form is understood; without a prefix length /64 is meant. Undefined when `network` is no IPv6 network.
 */
export const firstAddress = (network: string): string | undefined => {
  const [text = '', prefix = '64', ...rest] = network.trim().split('/');
  if (!isIPv6(text) || text.includes('%') || rest.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > 128) {
    return undefined;
  }
  const length = Number(prefix);
  const groups = groupsOf(text).map((group, i) => {
    const kept = Math.min(16, Math.max(0, length - 16 * i));
    return group & (0xffff << (16 - kept)) & 0xffff;
  });
  // A network of one address has no other.
  if (length < 128) groups[7] = (groups[7] ?? 0) | 1;
  return canonical(groups.map(group => group.toString(16)).join(':'));
};

/** RFC 5952 form, without a dotted tail. */
const canonical = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1);

const groupsOf = (text: string): number[] => {
  const [head = '', tail] = canonical(text).split('::');
  const split = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const after = split(tail ?? '');
  const before = split(head);
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill('0'), ...after].map(group => Number.parseInt(group, 16));
};
