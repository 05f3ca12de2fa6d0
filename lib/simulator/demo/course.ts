import { systemClock as clock } from '../../streams/clock.ts';
import { isDone } from './journeys.ts';
import { joinNode } from './kubelet.ts';
import type { DemoOptions } from './options.ts';
import { duration } from './report.ts';
import { countKubernetes } from './requests.ts';
import { controlPlane, type Observations, workerName } from './result.ts';
import { bar, type Screen } from './screen.ts';
import { openStage } from './stage.ts';

/** ms that a phase may take to get where it should. */
const patience = 20_000;

/** Runs the whole demo once. @throws FatalError when something does not get where it should */
export async function runCourse(options: DemoOptions, screen: Screen): Promise<Observations> {
  const { workers, interval, idle } = options;
  const stage = await openStage(screen, screen.nodeDone);
  const { project, kubernetes, journeys } = stage;
  const { id: network } = project.networks.create({ name: 'demo', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  const names = [controlPlane, ...Array.from({ length: workers }, (_, i) => workerName(i + 1))];
  // Servers are there before their kubelets are: a machine takes its time to boot.
  for (const [i, name] of names.entries()) project.servers.create({ name, network, ip: `10.0.1.${i + 1}` });
  const join = (index: number): void => joinNode(kubernetes, names[index] as string, `10.244.${index}.0/24`);
  join(0);
  const controller = stage.startController('10.244.0.0/16', { HCLOUD_NETWORK: 'demo' });

  const waitForAll = (text: string): Promise<void> => {
    const waiting = () => [...journeys.all.values()].filter(one => !isDone(one)).map(({ name }) => name);
    return stage.waitForAll(() => `${text}, waiting for ${waiting().join(', ')}`, patience);
  };
  const scale = async (): Promise<void> => {
    const from = clock.monotonic();
    for (let index = 1; index <= workers; index++) {
      join(index);
      const done = () => journeys.all.values().filter(isDone).toArray().length;
      const text = () => `${bar(done() / names.length)} ${done() - 1}/${workers} workers ready`;
      if (index < workers) await stage.show(from + index * interval, text);
    }
    await waitForAll('scaling up');
  };

  try {
    screen.say('Taking over 1 control plane', 'bold');
    const takeOver = await stage.phase(() => waitForAll('taking over'));
    screen.say(`Scaling from 0 to ${workers} workers, one every ${interval / 1_000} s`, 'bold');
    const scaleUp = await stage.phase(scale);
    screen.say(`Idling for ${duration(idle)}`, 'bold');
    const text = (left: number) => `${bar(1 - left / (idle * 1_000))} idling, ${Math.ceil(left / 1_000)} s left`;
    const idling = await stage.phase(() => stage.rest(idle, text));
    return {
      options,
      phases: { takeOver, scaleUp, idle: idling },
      journeys: [...journeys.all.values()],
      kubernetesIdle: countKubernetes(kubernetes.journal.all()),
      memoryMiB: controller.memory(),
    };
  } finally {
    await stage.close();
  }
}
