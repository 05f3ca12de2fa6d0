import { pruneMetadata } from './prune.ts';
import { number, optional, type Raw, record, records, text, texts } from './raw.ts';
import type { IngressAddress, KubeService, ServicePort } from './types.ts';

/** Annotations of a Service that a controller reads. */
const isServiceAnnotation = (key: string): boolean => key.startsWith('load-balancer.hetzner.cloud/');

const portOf = (raw: Raw): ServicePort => ({
  name: text(raw.name),
  protocol: text(raw.protocol) || 'TCP',
  port: number(raw.port),
  nodePort: number(raw.nodePort),
});

/** Fields that were not there stay away, so that a status compares equal with what is wanted. */
const ingressOf = (raw: Raw): IngressAddress => {
  const [ip, hostname, ipMode] = [optional(raw.ip), optional(raw.hostname), optional(raw.ipMode)];
  return {
    ...(ip === undefined ? {} : { ip }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(ipMode === undefined ? {} : { ipMode }),
  };
};

/** What is kept of a Service. Any field may be missing; throws only when metadata.name or metadata.uid is. */
export const pruneService = (raw: unknown): KubeService => {
  const spec = record(record(raw).spec);
  const status = record(record(record(raw).status).loadBalancer);
  return {
    ...pruneMetadata(raw, isServiceAnnotation),
    type: text(spec.type),
    loadBalancerClass: text(spec.loadBalancerClass),
    ports: records(spec.ports).map(portOf),
    externalTrafficPolicy: text(spec.externalTrafficPolicy),
    healthCheckNodePort: number(spec.healthCheckNodePort),
    sessionAffinity: text(spec.sessionAffinity),
    sourceRanges: texts(spec.loadBalancerSourceRanges),
    finalizers: texts(record(record(raw).metadata).finalizers),
    ingress: records(status.ingress).map(ingressOf),
  };
};
