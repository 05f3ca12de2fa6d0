import type { FakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import { toRequest } from '../../lib/simulator/hetzner/wire.ts';
import type { Exchanger } from '../../lib/simulator/kubernetes/dispatcher.ts';

/** Hetzner as one more thing that plays HTTP exchanges, for an InProcessDispatcher. `client` is the name in the journal. */
export const exchangerOf = (hetzner: FakeHetzner, client: string): Exchanger => ({
  exchange: ({ method, url, headers, body }, answer) => {
    const sent = hetzner.handle(toRequest(method, url, { headers, client, ...(body !== '' && { body }) }));
    const { disposition } = sent;
    if (disposition.kind === 'hang') return () => {};
    const deliver = (): void => {
      if (disposition.kind !== 'reset') {
        const lowered = Object.entries(sent.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
        answer.start(sent.status, Object.fromEntries(lowered));
        answer.write(disposition.kind === 'send' ? sent.body : sent.body.slice(0, sent.body.length / 2));
      }
      if (disposition.kind === 'send') answer.end();
      else answer.reset();
    };
    const timer = setTimeout(deliver, disposition.delay);
    return () => clearTimeout(timer);
  },
});
