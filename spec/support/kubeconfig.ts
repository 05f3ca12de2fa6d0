import { writeFileSync } from 'node:fs';

/** Writes a kubeconfig (JSON is YAML) with a token, and the CA inline where there is one. */
export const writeKubeconfig = (path: string, server: string, token: string, ca: string | undefined): void => {
  // KubeConfig refuses plain http unless told that TLS is not wanted.
  const cluster =
    ca === undefined
      ? { server, 'insecure-skip-tls-verify': true }
      : { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'spec', cluster }],
    users: [{ name: 'controller', user: { token } }],
    contexts: [{ name: 'spec', context: { cluster: 'spec', user: 'controller' } }],
    'current-context': 'spec',
  };
  writeFileSync(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
};
