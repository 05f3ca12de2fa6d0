import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { joinNode } from '../../lib/simulator/demo/kubelet.ts';
import { createFakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import { listenHetzner } from '../../lib/simulator/hetzner/listen.ts';
import { createFakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import { listenKubernetes } from '../../lib/simulator/kubernetes/listen.ts';
import { command, entrypoint, environment, paths, uid, user } from './definition.ts';
import type { Machine } from './emulator.ts';
import { run } from './run.ts';

/** In a mount namespace of its own the root is bound read-only over itself; /proc is a runtime's work. */
const readOnly = `
mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" || exit 99
mount -t proc proc "$0/proc" 2>/dev/null
exec chroot --userspec=${user} "$0" "$@"`;

/** Whether this process may make mount namespaces. */
export const canMount: Promise<boolean> = run('unshare', ['--mount', 'true']).then(
  () => true,
  () => false,
);

/** Starts a program of the image as its user, with its root read-only where that is possible and nothing of the host but the network. */
async function startIn(
  { root, prefix }: Machine,
  program: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const command = [...prefix, ...program];
  const [file, args] = (await canMount)
    ? (['unshare', ['--mount', 'sh', '-c', readOnly, root, ...command]] as const)
    : (['chroot', [`--userspec=${user}`, root, ...command]] as const);
  return spawn(file, args, {
    env: { ...environment, ...env, PATH: hostPath },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const hostPath = `${process.env.PATH}:/usr/sbin:/sbin`;

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

const ended = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve, reject) => {
    let output = '';
    const add = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout?.on('data', add);
    child.stderr?.on('data', add);
    child.on('error', reject);
    child.on('close', code => resolve({ code, output }));
  });

/** Runs a command of the image to its end. */
export const runIn = async (
  machine: Machine,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<Ended> => ended(await startIn(machine, [...entrypoint, ...args], env));

/** The same by the peer's command. */
export const runAsPeer = async (machine: Machine, args: readonly string[]): Promise<Ended> =>
  ended(await startIn(machine, [...command, ...args]));

/**
 * Fills the compile cache as the user who will read it, for his number is part of its name. `--predictable` makes V8
 * compile in one order without changing what the cache is good for.
 */
export async function fillCompileCache({ root, prefix }: Machine): Promise<string> {
  const directory = join(root, paths.compileCache);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  chownSync(directory, uid, uid);
  const [node = '', ...flagsAndProgram] = entrypoint;
  const child = spawn(
    'chroot',
    [`--userspec=${user}`, root, ...prefix, node, '--predictable', ...flagsAndProgram, '--help'],
    {
      env: { ...environment, PATH: hostPath },
    },
  );
  const { code, output } = await ended(child);
  if (code !== 0) throw new Error(`The program does not start in its image: ${code} ${output}`);
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(file => file.isFile());
  if (files.length === 0) throw new Error('The compile cache holds nothing');
  const contents = files.map(
    ({ parentPath, name }) => `${name} ${readFileSync(join(parentPath, name)).toString('base64')}`,
  );
  return contents.sort().join('\n');
}

/** Runs the controller of the image between simulated Hetzner and Kubernetes until a node is routed, then stops it. */
export async function runController(machine: Machine, patience = 60_000): Promise<Ended> {
  const token = 'x'.repeat(64);
  const hetzner = createFakeHetzner({ token });
  const kubernetes = createFakeKubernetes();
  const [hetznerAPI, kubernetesAPI] = await Promise.all([listenHetzner(hetzner), listenKubernetes(kubernetes)]);
  const { id: network } = hetzner.networks.create({ name: 'image', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  hetzner.servers.create({ name: 'w1', network, ip: '10.0.1.1' });
  joinNode(kubernetes, 'w1', '10.244.1.0/24');
  const child = await startIn(
    machine,
    [
      ...entrypoint,
      '--cloud-provider=hcloud',
      '--cluster-cidr=10.244.0.0/16',
      '--secure-port=0',
      `--master=${kubernetesAPI.url}`,
    ],
    {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: hetznerAPI.url,
      HCLOUD_NETWORK: 'image',
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
      HCLOUD_METRICS_ADDRESS: '127.0.0.1:0',
    },
  );
  const timer = setTimeout(() => child.kill('SIGKILL'), patience);
  child.stdout.on('data', () => {
    if (!child.killed && hetzner.networks.get(network)?.routes.length === 1) child.kill('SIGTERM');
  });
  try {
    return await ended(child);
  } finally {
    clearTimeout(timer);
    await Promise.all([hetznerAPI.close(), kubernetesAPI.close()]);
  }
}
