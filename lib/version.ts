/** Version of this program: set by the bundler from package.json, `dev` when the sources run directly. */
declare const HCLOUD_REACTIVE_CONTROLLER_VERSION: string | undefined;

export const version: string =
  typeof HCLOUD_REACTIVE_CONTROLLER_VERSION === 'string' ? HCLOUD_REACTIVE_CONTROLLER_VERSION : 'dev';

/** Answer of the `version` command. */
export const versionLine = `hcloud-reactive-controller ${version} (Node.js ${process.versions.node})`;

/** What requests to Hetzner and Kubernetes say who we are. */
export const userAgent = `hcloud-reactive-controller/${version}`;
