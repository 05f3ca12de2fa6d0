import type { KubeClient, KubeObject } from './kube-client.ts';

/** One request as the API server saw it. */
export interface SeenRequest {
  readonly user: string;
  readonly userAgent: string;
  /** get, list, watch, create, update, patch, delete. */
  readonly verb: string;
  /** Path and query. */
  readonly path: string;
  /** Status of the answer; the real API server only, as the next one. */
  readonly code?: number;
  /** Such as `nodes` or `nodes/status`. */
  readonly resource?: string;
}

/** A Kubernetes API to test against: the real kube-apiserver or the embedded one. */
export interface Cluster {
  readonly kind: 'real' | 'embedded';
  readonly url: string;
  /** PEM; undefined for plain http. */
  readonly ca: string | undefined;
  /** `admin` is the specs' own user, `controller` the one under test. */
  readonly tokens: { readonly admin: string; readonly controller: string };
  /** Path of a kubeconfig for the user `controller`. */
  readonly kubeconfig: string;
  /** The specs' own client, as `admin`. */
  readonly client: KubeClient;
  /** SIGKILL: connections break, new ones are refused. */
  killAPIServer(): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. Versions from before are then too old to watch from. */
  startAPIServer(): Promise<void>;
  /** SIGSTOP: connections stay open, nothing is answered. */
  pauseAPIServer(): void;
  resumeAPIServer(): void;
  /** Everything is lost and versions start again; the API server is restarted. */
  wipeEtcd(): Promise<void>;
  /** Makes every version before the present one too old for watches and lists; the API server is restarted. */
  expireHistory(): Promise<void>;
  /** What was asked so far. The harness's own start-up is not in it. */
  requests(): Promise<readonly SeenRequest[]>;
  close(): Promise<void>;
}

/** Polls `check` every 50 ms until it answers something other than undefined. @throws after `timeout` ms, naming `what` */
export const eventually = async <T>(
  what: string,
  check: () => Promise<T | undefined>,
  timeout = 10_000,
): Promise<T> => {
  const deadline = Date.now() + timeout;
  for (;;) {
    const answer = await check();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${timeout} ms`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};

const oneObject = (path: string): { collection: string; name: string } => {
  const at = path.lastIndexOf('/');
  return { collection: path.slice(0, at), name: path.slice(at + 1) };
};

/**
 * Waits on a watch until the object at `path` (undefined while there is none) fulfils `predicate`, and returns it.
 * Goes through restarts of the API server. @throws after `timeout` ms, with the last state
 */
export const waitFor = async (
  cluster: Cluster,
  path: string,
  predicate: (object: KubeObject | undefined) => boolean,
  timeout = 10_000,
): Promise<KubeObject | undefined> => {
  const { collection, name } = oneObject(path);
  const query = `fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  const deadline = Date.now() + timeout;
  let last: KubeObject | undefined;
  const followOnce = async (): Promise<boolean> => {
    const list = await cluster.client.must('GET', `${collection}?${query}`);
    last = list.items[0];
    if (predicate(last)) return true;
    const watch = await cluster.client.watch(
      `${collection}?watch=true&${query}&resourceVersion=${list.metadata.resourceVersion}`,
    );
    try {
      for (
        let event = await watch.next(deadline - Date.now());
        event !== undefined;
        event = await watch.next(deadline - Date.now())
      ) {
        if (event.type === 'ERROR') return false;
        last = event.type === 'DELETED' ? undefined : event.object;
        if (predicate(last)) return true;
      }
      return false;
    } finally {
      watch.close();
    }
  };
  while (Date.now() < deadline) {
    if (await followOnce().catch(() => false)) return last;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error(`${path} did not get there within ${timeout} ms; last: ${JSON.stringify(last)}`);
};
