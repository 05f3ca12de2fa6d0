import { describe, it } from 'node:test';
import { BEHAVIOURS } from '../../cluster/behaviours.ts';
import { startEmbeddedCluster } from '../../support/embedded-cluster.ts';

// The same table as spec/cluster/conformance.spec.ts, here without the real server and side by side.
describe('the embedded API', { concurrency: true }, () => {
  for (const behaviour of BEHAVIOURS) {
    it(behaviour.name, async () => {
      const cluster = await startEmbeddedCluster();
      try {
        await behaviour.run(cluster);
      } finally {
        await cluster.close();
      }
    });
  }
});
