export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, histograms only. */
  readonly buckets?: readonly number[];
}

/** Prometheus' default for request durations, seconds. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** client-go's, seconds. */
const restClientBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** Kubernetes' node controller: 1 s to 17 min. */
const nodeDelayBuckets = [1, 4, 16, 64, 256, 1024];
/** client-go's work queue: 10 ns to 10 s. */
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10];

const counter = <const L extends readonly string[]>(name: string, help: string, labels: L) =>
  ({ name, type: 'counter', help, labels }) as const;
const gauge = <const L extends readonly string[]>(name: string, help: string, labels: L) =>
  ({ name, type: 'gauge', help, labels }) as const;
const histogram = <const L extends readonly string[]>(
  name: string,
  help: string,
  labels: L,
  buckets: readonly number[],
) => ({ name, type: 'histogram', help, labels, buckets }) as const;

/**
 * Every metric of the process, in the order of the exposition. Names, labels and buckets without the prefix
 * `hcloud_reactive_` are those of Hetzner's and Kubernetes' programs, so that dashboards go on working. There is no
 * kubernetes_build_info: it would collide with the API server's (BUG-092).
 */
export const metricDefinitions = {
  operations: counter('cloud_controller_manager_operations_total', 'Operations of the controllers on the cloud', [
    'op',
  ]),
  serverCacheRequests: counter(
    'cloud_controller_manager_server_cache_requests_total',
    'Look-ups of servers, by whether a request to Hetzner was needed',
    ['subsystem', 'mode', 'result'],
  ),
  hcloudRequests: counter('hcloud_api_requests_total', 'Requests to the Hetzner API', [
    'code',
    'method',
    'api_endpoint',
  ]),
  hcloudInFlight: gauge('hcloud_api_in_flight_requests', 'Requests to the Hetzner API that wait for their answer', []),
  hcloudDuration: histogram(
    'hcloud_api_request_duration_seconds',
    'Time from a request to the Hetzner API to its answer',
    ['method'],
    requestBuckets,
  ),
  robotRequests: counter('hcloud_reactive_robot_requests_total', 'Requests to the Robot web service', [
    'route',
    'method',
    'code',
  ]),
  credentialsRefused: gauge(
    'hcloud_reactive_credentials_refused',
    '1 while Hetzner refuses the token (cloud) or the login (robot), else 0',
    ['api'],
  ),
  networkMissing: gauge(
    'hcloud_reactive_network_missing',
    '1 while the network of HCLOUD_NETWORK or HCLOUD_CONTROL_PLANE_NETWORK does not exist any more, else 0',
    ['network'],
  ),
  routeSyncs: counter('route_controller_route_sync_total', 'Reconciliations of routes', []),
  taintRemovalDelay: histogram(
    'node_controller_cloud_provider_taint_removal_delay_seconds',
    'Time from the creation of a node to the removal of its uninitialized taint',
    [],
    nodeDelayBuckets,
  ),
  initialSyncDelay: histogram(
    'node_controller_initial_node_sync_delay_seconds',
    'Time from the creation of a node to the end of its first reconciliation',
    [],
    nodeDelayBuckets,
  ),
  queueDepth: gauge('workqueue_depth', 'Keys that wait in the work queue', ['name']),
  queueAdds: counter('workqueue_adds_total', 'Triggers put into the work queue', ['name']),
  queueDuration: histogram(
    'workqueue_queue_duration_seconds',
    'Time a key was ready before its run started',
    ['name'],
    queueBuckets,
  ),
  workDuration: histogram('workqueue_work_duration_seconds', 'Time a run took', ['name'], queueBuckets),
  unfinishedWork: gauge('workqueue_unfinished_work_seconds', 'Time spent so far in runs that have not ended, summed', [
    'name',
  ]),
  longestRunning: gauge('workqueue_longest_running_processor_seconds', 'Time spent so far in the longest run', [
    'name',
  ]),
  queueRetries: counter('workqueue_retries_total', 'Runs that will be tried again', ['name']),
  kubeRequests: counter('rest_client_requests_total', 'Requests to the Kubernetes API', ['code', 'method', 'host']),
  kubeDuration: histogram(
    'rest_client_request_duration_seconds',
    'Time from a request to the Kubernetes API to its answer',
    ['verb', 'host'],
    restClientBuckets,
  ),
  leader: gauge('leader_election_master_status', '1 while this process holds the lease, else 0', ['name']),
  runningControllers: gauge('running_managed_controllers', '1 while the controller runs, else 0', ['name', 'manager']),
  budgetRemaining: gauge('hcloud_reactive_api_budget_remaining', 'Requests left in the quota of the Hetzner API', []),
  budgetLimit: gauge('hcloud_reactive_api_budget_limit', 'Size of the quota of the Hetzner API, requests an hour', []),
  serverSnapshotAge: gauge('hcloud_reactive_server_snapshot_age_seconds', 'Age of the newest list of servers', []),
  actionsInFlight: gauge('hcloud_reactive_actions_in_flight', 'Actions at Hetzner that are waited for', []),
  outcomes: counter('hcloud_reactive_outcomes_total', 'How runs ended: done, again, failed, rejected', [
    'controller',
    'outcome',
  ]),
  routes: gauge('hcloud_reactive_routes', 'Routes in the network', ['network']),
  routeLimit: gauge('hcloud_reactive_route_limit', 'Most routes that the network can hold', ['network']),
  podCIDRs: gauge('hcloud_reactive_pod_cidrs', 'Pod CIDRs that fit into the range, by state: used or free', [
    'range',
    'state',
  ]),
  watchRestarts: counter('hcloud_reactive_watch_restarts_total', 'Watches of the Kubernetes API that ended', [
    'resource',
    'cause',
  ]),
  watchEvents: counter('hcloud_reactive_watch_events_total', 'Events received from the Kubernetes API', ['resource']),
  logLinesLost: counter('hcloud_reactive_log_lines_lost_total', 'Lines of the log that could not be written', []),
  buildInfo: gauge('hcloud_reactive_build_info', 'Always 1; the labels name the release', ['version', 'node_version']),
  processCPU: counter('process_cpu_seconds_total', 'User and system CPU time', []),
  processMemory: gauge('process_resident_memory_bytes', 'Resident memory', []),
  processStart: gauge('process_start_time_seconds', 'Start of the process, seconds since the epoch', []),
  processOpenFiles: gauge('process_open_fds', 'Open file descriptors', []),
  processMaxFiles: gauge('process_max_fds', 'Most file descriptors that may be open', []),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use', []),
  heapTotal: gauge('nodejs_heap_size_total_bytes', 'JavaScript heap allocated', []),
  externalMemory: gauge('nodejs_external_memory_bytes', 'Memory of buffers and other objects outside the heap', []),
  eventLoopUtilization: gauge(
    'nodejs_eventloop_utilization',
    'Share of time since the last scrape in which the event loop was busy, 0 to 1',
    [],
  ),
} as const satisfies Record<string, MetricDefinition>;

export type MetricKey = keyof typeof metricDefinitions;
