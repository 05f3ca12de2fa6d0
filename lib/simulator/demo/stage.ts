import { randomBytes } from 'node:crypto';
import { FatalError } from '../../fatal-error.ts';
import { systemClock as clock } from '../../streams/clock.ts';
import { createFakeHetzner, type FakeHetzner } from '../hetzner/fake.ts';
import { listenHetzner } from '../hetzner/listen.ts';
import { createFakeKubernetes, type FakeKubernetes } from '../kubernetes/fake.ts';
import { listenKubernetes } from '../kubernetes/listen.ts';
import { type ControllerProcess, startController } from './controller-process.ts';
import { followJourneys, isDone, type Journey, type Journeys } from './journeys.ts';
import { heartbeat } from './kubelet.ts';
import type { Phase } from './result.ts';
import type { Screen } from './screen.ts';

/** The delays under which the peer was measured, ms. */
const answerDelay = 20;
const actionDuration = 400;

/** ms without a request after which a phase is over. */
const quiet = 1_000;
const tick = 50;
/** ms between two heartbeats of a kubelet. */
const heartbeatEvery = 10_000;

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** What a demo happens on: both fakes on loopback, and the controller between them once it is started. */
export interface Stage {
  readonly project: FakeHetzner;
  readonly kubernetes: FakeKubernetes;
  readonly journeys: Journeys;
  /** Once. */
  startController(clusterCIDR: string, env: Readonly<Record<string, string>>): ControllerProcess;
  /** Waits until the instant of the monotonic clock, showing what goes on. */
  show(until: number, text: (left: number) => string): Promise<void>;
  /** Waits for `journeys` to end and for the controller to fall silent. @throws FatalError after `patience` ms */
  waitForAll(text: () => string, patience: number, journeys?: () => Iterable<Journey>): Promise<void>;
  /** Idles with heartbeats for some seconds. */
  rest(seconds: number, text: (left: number) => string): Promise<void>;
  /** Does something and counts the requests to Hetzner meanwhile. */
  phase(work: () => Promise<void>): Promise<Phase>;
  close(): Promise<void>;
}

export async function openStage(screen: Screen, onDone: (journey: Journey) => void): Promise<Stage> {
  const token = randomBytes(32).toString('hex');
  const project = createFakeHetzner({ token, answerDelay, actionDuration });
  const kubernetes = createFakeKubernetes();
  const journeys = followJourneys(kubernetes, project, clock, onDone);
  const [hetznerAPI, kubernetesAPI] = await Promise.all([
    listenHetzner(journeys.hetzner),
    listenKubernetes(kubernetes),
  ]);
  let controller: ControllerProcess | undefined;

  const fail = (problem: string): never => {
    throw new FatalError(`${problem}\nThe controller's last log lines:\n${controller?.lastLines()}`);
  };
  const checkController = (): void => {
    const ended = controller?.ended();
    if (ended !== undefined) fail(`The controller ${ended}`);
  };
  const show: Stage['show'] = async (until, text) => {
    for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
      checkController();
      screen.status(text(left));
      await pause(Math.min(tick, left));
    }
  };
  return {
    project,
    kubernetes,
    journeys,
    startController(clusterCIDR, env) {
      controller = startController(
        [
          '--cloud-provider=hcloud',
          `--cluster-cidr=${clusterCIDR}`,
          '--allocate-node-cidrs=true',
          '--secure-port=0',
          `--master=${kubernetesAPI.url}`,
        ],
        {
          HCLOUD_TOKEN: token,
          HCLOUD_ENDPOINT: hetznerAPI.url,
          HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
          HCLOUD_METRICS_ADDRESS: '127.0.0.1:0',
          ...env,
        },
      );
      return controller;
    },
    show,
    async waitForAll(text, patience, of = () => journeys.all.values()) {
      const deadline = clock.monotonic() + patience;
      const waiting = (): string[] => [...of()].filter(one => !isDone(one)).map(({ name }) => name);
      for (let names = waiting(); names.length > 0; names = waiting()) {
        checkController();
        if (clock.monotonic() > deadline) fail(`Not ready within ${patience / 1_000} s: ${names.join(', ')}`);
        screen.status(text());
        await pause(tick);
      }
      const settled = () => (project.requests.at(-1)?.at ?? 0) + quiet - Date.now();
      for (let left = settled(); left > 0 && clock.monotonic() < deadline; left = settled()) await pause(left);
    },
    async rest(seconds, text) {
      kubernetes.journal.clear();
      const beats = setInterval(() => {
        for (const name of journeys.all.keys()) heartbeat(kubernetes, name);
      }, heartbeatEvery);
      try {
        await show(clock.monotonic() + seconds * 1_000, text);
      } finally {
        clearInterval(beats);
      }
    },
    async phase(work) {
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
    },
    async close() {
      screen.close();
      journeys.stop();
      await controller?.stop();
      await Promise.all([hetznerAPI.close(), kubernetesAPI.close()]);
    },
  };
}
