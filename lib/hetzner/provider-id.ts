/**
 * Provider IDs as Hetzner's controllers write them into spec.providerID:
 * `hcloud://<server id>` for Cloud, `hrobot://<server number>` for Robot, and `hcloud://bm-<number>`, an older
 * form for Robot that is read but never written.
 */
export type ProviderID =
  | { readonly kind: 'cloud'; readonly id: number }
  | { readonly kind: 'robot'; readonly id: number }
  /** Another provider's machine: never touched. */
  | { readonly kind: 'foreign' }
  /** Our prefix with something else than a number behind it: never touched either, but somebody should look. */
  | { readonly kind: 'malformed'; readonly problem: string };

const prefixes = [
  ['hcloud://bm-', 'robot'],
  ['hcloud://', 'cloud'],
  ['hrobot://', 'robot'],
] as const;

/** Reads a non-empty provider ID. Total: never throws. */
export function parseProviderID(text: string): ProviderID {
  for (const [prefix, kind] of prefixes) {
    if (!text.startsWith(prefix)) continue;
    const digits = text.slice(prefix.length);
    const id = /^[1-9][0-9]{0,15}$/.test(digits) ? Number(digits) : Number.NaN;
    if (Number.isSafeInteger(id)) return { kind, id };
    const problem = digits === '' ? `no number behind ${prefix}` : `${JSON.stringify(digits)} is no server number`;
    return { kind: 'malformed', problem };
  }
  return { kind: 'foreign' };
}

/** The provider ID of a Cloud server. */
export const cloudProviderID = (serverID: number): string => `hcloud://${serverID}`;

/** The provider ID of a Robot server; the older form is never written. */
export const robotProviderID = (serverNumber: number): string => `hrobot://${serverNumber}`;
