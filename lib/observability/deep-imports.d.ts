// Parts of packages that are a fraction of the whole in memory; they have no types of their own.

declare module 'winston/lib/winston/create-logger.js' {
  import { createLogger } from 'winston';

  const create: typeof createLogger;
  export default create;
}

declare module 'prom-client/lib/registry.js' {
  import { Registry } from 'prom-client';

  export default Registry;
}

declare module 'prom-client/lib/counter.js' {
  import { Counter } from 'prom-client';

  export default Counter;
}

declare module 'prom-client/lib/gauge.js' {
  import { Gauge } from 'prom-client';

  export default Gauge;
}

declare module 'prom-client/lib/histogram.js' {
  import { Histogram } from 'prom-client';

  export default Histogram;
}
