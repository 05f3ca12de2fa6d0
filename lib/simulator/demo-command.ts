/** The `demo` command. */
export async function demoCommand(_argv: readonly string[]): Promise<number> {
  throw new Error('The demo is not part of this build');
}
