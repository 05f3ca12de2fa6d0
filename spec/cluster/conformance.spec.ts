import { after, before, describe, it } from 'node:test';
import { resolveAssets } from '../support/assets.ts';
import type { Cluster } from '../support/cluster.ts';
import { startEmbeddedCluster } from '../support/embedded-cluster.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { BEHAVIOURS } from './behaviours.ts';

/** One table, two servers: what the embedded API does is what the real one does. */
const conformance = (title: string, skip: string | false, start: () => Promise<Cluster>): void => {
  describe(title, { skip }, () => {
    let cluster: Cluster | undefined;
    before(async () => {
      cluster = await start();
    });
    after(() => cluster?.close());
    for (const behaviour of BEHAVIOURS) {
      it(behaviour.name, async () => {
        if (cluster !== undefined) await behaviour.run(cluster);
      });
    }
  });
};

const assets = await resolveAssets();

conformance('the embedded Kubernetes API', false, () => startEmbeddedCluster());
conformance('the real kube-apiserver', typeof assets === 'string' ? assets : false, () =>
  startRealCluster(typeof assets === 'string' ? {} : { assets }),
);
