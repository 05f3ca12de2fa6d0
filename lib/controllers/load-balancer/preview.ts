import type { Certificate, LoadBalancer, LoadBalancerType } from '../../hetzner/lb-types.ts';
import type { Network } from '../../hetzner/types.ts';
import { type KubeNode, type KubeService, keyOf } from '../../kubernetes/types.ts';
import type { Settings } from '../../settings/settings.ts';
import type { InstanceLists } from '../instances.ts';
import type { NameOfNetwork, NodeNetworks } from '../networks.ts';
import { joinPreviews, type PlannedChange, type PlannedNote, type Preview } from '../preview.ts';
import { type Claims, claimed, createClaims } from './claims.ts';
import { createClusterView } from './cluster-view.ts';
import { bareBody } from './create.ts';
import { describeChange } from './describe-change.ts';
import { type DesiredLoadBalancer, defaultType } from './desired.ts';
import { choose, ownerLabel } from './identity.ts';
import { withChange } from './model.ts';
import { chooseNetwork, heldWithout, networkNameOf } from './network-choice.ts';
import { cleanupFinalizer, needsCleanup, wantsLoadBalancer } from './ownership.ts';
import { planLoadBalancer } from './plan.ts';
import { deletedWith, previewCertificates } from './preview-certificates.ts';
import { createReport, type ServiceReport } from './report.ts';
import { desiredLoadBalancer } from './resolve.ts';
import { ingressOf, lacksAddress, planStatus } from './status.ts';
import { type Wanted, wantedOf } from './wanted.ts';

export interface LoadBalancersInput {
  readonly services: readonly KubeService[];
  readonly nodes: readonly KubeNode[];
  /** Those that other instances look after. */
  readonly otherNodes?: readonly KubeNode[];
  readonly lists: InstanceLists;
  readonly loadBalancers: readonly LoadBalancer[];
  readonly certificates: readonly Certificate[];
  readonly types: readonly LoadBalancerType[];
  readonly settings: Settings['loadBalancers'];
  readonly networkID: number | undefined;
  /** All of the project, where a load balancer names one. */
  readonly allNetworks?: readonly Network[];
  /** Where the cluster has several networks. */
  readonly networks?: NodeNetworks | undefined;
  readonly nameOfNetwork?: NameOfNetwork | undefined;
  readonly robotEnabled: boolean;
  /** Why the project may be that of somebody else, if it may. */
  readonly doubt?: string | undefined;
}

/** One Service, and what would be said of it. */
interface Subject {
  readonly service: KubeService;
  readonly object: string;
  readonly tell: ServiceReport;
  readonly nameOfNetwork: NameOfNetwork | undefined;
}

/** What the load balancer controller would do. */
export function previewLoadBalancers(input: LoadBalancersInput): Preview {
  const { services, settings } = input;
  const isAlive = (uid: string): boolean => services.some(one => one.uid === uid && wantsLoadBalancer(one, settings));
  const claims = createClaims(isAlive);
  return joinPreviews(
    services.map(service => {
      const object = `Service ${keyOf(service)}`;
      const { tell, notes } = listen(service, object, input);
      const subject = { service, object, tell, nameOfNetwork: input.nameOfNetwork };
      if (wantsLoadBalancer(service, settings)) return { changes: ensured(subject, input, claims), notes };
      return { changes: needsCleanup(service, settings) ? cleanedUp(subject, input) : [], notes };
    }),
  );
}

/** The warnings that the controller would send as events, as notes. */
function listen(service: KubeService, object: string, { nodes }: LoadBalancersInput) {
  const notes: PlannedNote[] = [];
  const events: Parameters<typeof createReport>[0]['events'] = {
    event: ({ kind, name }, type, _, text) => {
      if (type === 'Warning') notes.push({ object: kind === 'Node' ? `Node ${name}` : object, text });
    },
  };
  const byName = { get: (name: string) => nodes.find(node => node.name === name), list: () => nodes };
  return { tell: createReport({ events, nodes: byName }).about(service), notes };
}

function ensured(subject: Subject, input: LoadBalancersInput, claims: Claims): PlannedChange[] {
  const { service, object, tell } = subject;
  const { loadBalancers: all } = input;
  const cluster = createClusterView(
    () => input.services,
    () => [...input.nodes, ...(input.otherNodes ?? [])],
  );
  const network = chooseNetwork(networkNameOf(service, input.settings), input.allNetworks ?? [], input.networkID);
  const wanted = heldWithout(wantedOf(service, input.settings, network.networkID), network);
  tell.notices(wanted.notices);
  const identity = claimed(choose(service, wanted, all, cluster), service.uid, claims, cluster);
  if (identity.kind === 'refused') {
    tell.failed(identity.problem);
    return [];
  }
  if (identity.kind !== 'own' && input.doubt !== undefined) {
    tell.heldBack(input.doubt);
    return [];
  }
  const present = identity.kind === 'create' ? undefined : identity.loadBalancer;
  const certificates = previewCertificates(object, service, wanted.config, input.certificates);
  for (const problem of certificates.problems) tell.failed(problem);
  const { desired, notices } = desiredLoadBalancer({
    ...input,
    networkID: network.networkID,
    networkIsNamed: network.isNamed,
    service,
    wanted,
    type: typeOf(wanted, present, input.types, tell),
    robotUnknown: false,
    certificates: certificates.wanted,
    present,
    refusedIP: undefined,
  });
  tell.notices(notices);
  return [
    ...finalizer(subject),
    ...certificates.made,
    ...(present === undefined
      ? [created(subject, desired, wanted)]
      : broughtIntoLine(subject, present, desired, wanted, all, identity.kind === 'adopt')),
    ...certificates.deleted,
  ];
}

function typeOf(
  { config: { type: name } }: Wanted,
  present: LoadBalancer | undefined,
  types: readonly LoadBalancerType[],
  tell: ServiceReport,
): DesiredLoadBalancer['type'] {
  if (name === undefined) return undefined;
  if (name === present?.type.name) return present.type;
  const found = types.find(type => type.name === name);
  if (found === undefined) tell.failed(`there is no load balancer type ${name}`);
  return found;
}

function finalizer({ service, object }: Subject): PlannedChange[] {
  if (service.finalizers.includes(cleanupFinalizer)) return [];
  const details = { finalizer: cleanupFinalizer };
  const why = 'its load balancer has to be deleted before the Service is gone';
  return [{ at: 'Kubernetes', object, action: 'add finalizer', details, why }];
}

function created({ object, tell }: Subject, desired: DesiredLoadBalancer, { config }: Wanted): PlannedChange {
  if (config.type === undefined) tell.typeUnset(defaultType);
  const { name, type, location, networkZone } = bareBody({ desired, config });
  const details = {
    name,
    type,
    ...(location === undefined ? { networkZone } : { location }),
    ...(desired.attachment !== undefined && { network: desired.attachment.networkID }),
    listenPorts: desired.listeners.map(({ listenPort }) => listenPort),
    targets: desired.targets.length,
  };
  return {
    at: 'Hetzner',
    object,
    action: 'create load balancer',
    details,
    why: 'the Service asks for one and has none',
  };
}

function broughtIntoLine(
  { service, object, tell, nameOfNetwork }: Subject,
  present: LoadBalancer,
  desired: DesiredLoadBalancer,
  wanted: Wanted,
  all: readonly LoadBalancer[],
  isAdopted: boolean,
): PlannedChange[] {
  const nameIsTaken = (name: string): boolean => all.some(lb => lb.name === name && lb.id !== present.id);
  tell.keptName(present, desired.name, nameIsTaken);
  tell.checkType(present, wanted.config.type);
  const plan = planLoadBalancer(present, desired, nameIsTaken);
  if (isAdopted) tell.adopted(present, plan);
  tell.withoutRoom(present, plan);
  const changes = plan.stages.flat();
  const after = changes.reduce(withChange, present);
  if (ingressOf(after, wanted.config).length === 0 && !lacksAddress(after, wanted.config)) tell.noAddress();
  const ingress = planStatus(service, after, wanted);
  return [
    ...changes.map(change => describeChange(object, present, change, nameOfNetwork)),
    ...(ingress === undefined
      ? []
      : [
          {
            at: 'Kubernetes',
            object,
            action: 'update status',
            details: { from: service.ingress, to: ingress },
            why: 'these are the addresses of the load balancer',
          } as const,
        ]),
  ];
}

function cleanedUp({ service, object, tell }: Subject, { loadBalancers, certificates, doubt }: LoadBalancersInput) {
  const own = loadBalancers.filter(({ labels }) => labels[ownerLabel] === service.uid);
  if (own.length === 0 && doubt !== undefined) {
    tell.heldBack(doubt);
    return [];
  }
  const why = service.deleting ? 'the Service is being deleted' : 'the Service does not ask for one any more';
  return [
    ...own.map(one => {
      const details = { loadBalancer: `${one.name} (${one.id})` };
      if (!one.isProtected) return { at: 'Hetzner', object, action: 'delete load balancer', details, why } as const;
      tell.kept(one);
      const kept = `${why}, but the load balancer is protected against deletion`;
      return { at: 'Hetzner', object, action: `remove label ${ownerLabel}`, details, why: kept } as const;
    }),
    ...deletedWith(object, service, certificates),
    { at: 'Kubernetes', object, action: 'remove finalizer', details: { finalizer: cleanupFinalizer }, why } as const,
  ];
}
