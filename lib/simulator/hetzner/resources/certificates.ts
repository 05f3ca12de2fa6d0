import type { ActionRecord } from '../actions.ts';
import { optionalLabels, optionalOneOf, optionalString, requiredString, requiredStrings } from '../body.ts';
import {
  addManaged,
  addUploaded,
  failIssuance,
  freeCertificateName,
  issuanceProblem,
  issue,
  removeCertificate,
  retryIssuance,
} from '../certificate-state.ts';
import type { CertificateRecord } from '../lb-records.ts';
import { certificateView } from '../lb-views.ts';
import { byNameAndLabels, byValues, listReply } from '../listing.ts';
import { type Call, find, type Reply, type Route } from '../router.ts';
import { actionView } from '../views.ts';
import { actionsBelow, started } from './actions.ts';

const types = ['uploaded', 'managed'] as const;

const theCertificate = (call: Call): CertificateRecord => find(call.world.certificates, call.params.id, 'certificate');

const single = (call: Call, certificate: CertificateRecord): Reply => ({
  status: 200,
  body: { certificate: certificateView(call.world, certificate) },
});

const issuing = (call: Call, certificate: CertificateRecord, command: string): ActionRecord =>
  call.start({
    command,
    resources: [{ id: certificate.id, type: 'certificate' }],
    error: issuanceProblem(call.world, certificate),
    effect: at => issue(certificate, at),
    undo: error => failIssuance(certificate, error),
  });

function create(call: Call): Reply {
  const { body, world, at } = call;
  const type = optionalOneOf(body, 'type', types) ?? 'uploaded';
  const wish = { name: requiredString(body, 'name'), labels: optionalLabels(body) ?? {} };
  const certificate =
    type === 'managed'
      ? addManaged(world, at, wish, requiredStrings(body, 'domain_names'))
      : addUploaded(world, at, wish, requiredString(body, 'certificate'), requiredString(body, 'private_key'));
  const action = type === 'managed' ? actionView(issuing(call, certificate, 'create_certificate'), at) : null;
  return { status: 201, body: { certificate: certificateView(world, certificate), action } };
}

function update(call: Call): Reply {
  const certificate = theCertificate(call);
  const name = optionalString(call.body, 'name');
  const labels = optionalLabels(call.body);
  if (name !== undefined) certificate.name = freeCertificateName(call.world, name, certificate);
  certificate.labels = labels ?? certificate.labels;
  return single(call, certificate);
}

function remove(call: Call): Reply {
  removeCertificate(call.world, theCertificate(call));
  return { status: 204 };
}

function retry(call: Call): Reply {
  const certificate = theCertificate(call);
  retryIssuance(call.world, call.at, certificate);
  return started(call, issuing(call, certificate, 'issue_certificate'));
}

export const certificates: readonly Route[] = [
  {
    method: 'GET',
    template: '/certificates',
    answer: call =>
      listReply(call, {
        plural: 'certificates',
        items: byValues(call, 'type', byNameAndLabels(call, call.world.certificates.values()), one => one.type, types),
        view: certificate => certificateView(call.world, certificate),
        sort: { id: one => one.id, name: one => one.name, created: one => one.created },
      }),
  },
  { method: 'POST', template: '/certificates', answer: create },
  { method: 'GET', template: '/certificates/{id}', answer: call => single(call, theCertificate(call)) },
  { method: 'PUT', template: '/certificates/{id}', answer: update },
  { method: 'DELETE', template: '/certificates/{id}', answer: remove },
  { method: 'POST', template: '/certificates/{id}/actions/retry', answer: retry },
  ...actionsBelow('/certificates', 'certificate', call => call.world.certificates),
];
