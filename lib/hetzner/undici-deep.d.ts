// undici without fetch, WebSocket, mocks and caches is half as large in memory; these parts have no types of their own.

declare module 'undici/lib/dispatcher/agent.js' {
  import type { Agent } from 'undici';

  const AgentClass: typeof Agent;
  export default AgentClass;
}

declare module 'bottleneck/light.js' {
  import Bottleneck from 'bottleneck';

  export default Bottleneck;
}
