import { randomBytes } from 'node:crypto';
import { FatalError } from '../../fatal-error.ts';
import { systemClock as clock } from '../../streams/clock.ts';
import { createFakeHetzner } from '../hetzner/fake.ts';
import { listenHetzner } from '../hetzner/listen.ts';
import { createFakeKubernetes } from '../kubernetes/fake.ts';
import { listenKubernetes } from '../kubernetes/listen.ts';
import { startController } from './controller-process.ts';
import { followJourneys, isDone } from './journeys.ts';
import { heartbeat, joinNode } from './kubelet.ts';
import type { DemoOptions } from './options.ts';
import { duration } from './report.ts';
import { countKubernetes } from './requests.ts';
import { controlPlane, type Observations, type Phase, workerName } from './result.ts';
import { bar, type Screen } from './screen.ts';

/** The delays under which the peer was measured, ms. */
const answerDelay = 20;
const actionDuration = 400;

/** ms that a phase may take to get where it should, and ms without a request after which it is over. */
const patience = 20_000;
const quiet = 1_000;
const tick = 50;
/** ms between two heartbeats of a kubelet. */
const heartbeatEvery = 10_000;

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** Runs the whole demo once. @throws FatalError when something does not get where it should */
export async function runCourse(options: DemoOptions, screen: Screen): Promise<Observations> {
  const { workers, interval, idle } = options;
  const token = randomBytes(32).toString('hex');
  const project = createFakeHetzner({ token, answerDelay, actionDuration });
  const kubernetes = createFakeKubernetes();
  const journeys = followJourneys(kubernetes, project, clock, screen.nodeDone);
  const [hetznerAPI, kubernetesAPI] = await Promise.all([
    listenHetzner(journeys.hetzner),
    listenKubernetes(kubernetes),
  ]);

  const { id: network } = project.networks.create({ name: 'demo', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  const names = [controlPlane, ...Array.from({ length: workers }, (_, i) => workerName(i + 1))];
  // Servers are there before their kubelets are: a machine takes its time to boot.
  for (const [i, name] of names.entries()) project.servers.create({ name, network, ip: `10.0.1.${i + 1}` });
  const join = (index: number): void => joinNode(kubernetes, names[index] as string, `10.244.${index}.0/24`);
  join(0);

  const controller = startController(
    [
      '--cloud-provider=hcloud',
      '--cluster-cidr=10.244.0.0/16',
      '--allocate-node-cidrs=true',
      '--secure-port=0',
      `--master=${kubernetesAPI.url}`,
    ],
    {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: hetznerAPI.url,
      HCLOUD_NETWORK: 'demo',
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
      HCLOUD_METRICS_ADDRESS: '127.0.0.1:0',
    },
  );

  const fail = (problem: string): never => {
    throw new FatalError(`${problem}\nThe controller's last log lines:\n${controller.lastLines()}`);
  };
  const checkController = (): void => {
    const ended = controller.ended();
    if (ended !== undefined) fail(`The controller ${ended}`);
  };
  /** Waits for `until` ms of the monotonic clock, showing what goes on. */
  const show = async (until: number, text: (left: number) => string): Promise<void> => {
    for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
      checkController();
      screen.status(text(left));
      await pause(Math.min(tick, left));
    }
  };
  const doneCount = (): number => journeys.all.values().filter(isDone).toArray().length;
  const waitForAll = async (text: string): Promise<void> => {
    const deadline = clock.monotonic() + patience;
    while (doneCount() < journeys.all.size) {
      checkController();
      const waiting = [...journeys.all.values()].filter(one => !isDone(one)).map(({ name }) => name);
      if (clock.monotonic() > deadline) fail(`Not ready within ${duration(patience / 1_000)}: ${waiting.join(', ')}`);
      screen.status(`${text}, waiting for ${waiting.join(', ')}`);
      await pause(tick);
    }
    const settled = () => (project.requests.at(-1)?.at ?? 0) + quiet - Date.now();
    for (let left = settled(); left > 0 && clock.monotonic() < deadline; left = settled()) await pause(left);
  };
  const phase = async (work: () => Promise<void>): Promise<Phase> => {
    const from = clock.monotonic();
    project.clearRequests();
    await work();
    // The fake tells the time of day.
    const behind = clock.monotonic() - Date.now();
    const requests = project.requests.map(({ at, method, route, status }) => ({
      at: at + behind,
      name: `${method} ${route}`,
      status,
    }));
    return { from, seconds: (clock.monotonic() - from) / 1_000, requests, hetzner: project.counts() };
  };

  const scale = async (): Promise<void> => {
    const from = clock.monotonic();
    for (let index = 1; index <= workers; index++) {
      join(index);
      const text = () => `${bar(doneCount() / names.length)} ${doneCount() - 1}/${workers} workers ready`;
      if (index < workers) await show(from + index * interval, text);
    }
    await waitForAll('scaling up');
  };
  const rest = async (): Promise<void> => {
    kubernetes.journal.clear();
    const beats = setInterval(() => {
      for (const name of names) heartbeat(kubernetes, name);
    }, heartbeatEvery);
    try {
      const text = (left: number) => `${bar(1 - left / (idle * 1_000))} idling, ${Math.ceil(left / 1_000)} s left`;
      await show(clock.monotonic() + idle * 1_000, text);
    } finally {
      clearInterval(beats);
    }
  };

  try {
    screen.say('Taking over 1 control plane', 'bold');
    const takeOver = await phase(() => waitForAll('taking over'));
    screen.say(`Scaling from 0 to ${workers} workers, one every ${interval / 1_000} s`, 'bold');
    const scaleUp = await phase(scale);
    screen.say(`Idling for ${duration(idle)}`, 'bold');
    const idling = await phase(rest);
    return {
      options,
      phases: { takeOver, scaleUp, idle: idling },
      journeys: [...journeys.all.values()],
      kubernetesIdle: countKubernetes(kubernetes.journal.all()),
      memoryMiB: controller.memory(),
    };
  } finally {
    screen.close();
    journeys.stop();
    await controller.stop();
    await Promise.all([hetznerAPI.close(), kubernetesAPI.close()]);
  }
}
