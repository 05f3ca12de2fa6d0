import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Project, project } from './project.ts';

const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
const key = '-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n';
const upload = { name: 'mine', certificate: pem('a'), private_key: key };
const managed = { name: 'theirs', type: 'managed', domain_names: ['example.com', '*.example.com'] };

const stateOf = ({ get }: Project, id: number) => {
  const { status, certificate, fingerprint, not_valid_after } = get(`/certificates/${id}`).body.certificate;
  return { status, isIssued: certificate !== null && fingerprint !== null && not_valid_after !== null };
};

describe('A certificate', () => {
  it('that is uploaded is there at once, without an action', () => {
    const made = project();
    const { body } = made.post('/certificates', { ...upload, labels: { a: 'b' } });
    assert.deepEqual([body.action, body.certificate.type, body.certificate.labels], [null, 'uploaded', { a: 'b' }]);
    assert.deepEqual(stateOf(made, body.certificate.id), { status: null, isIssued: true });
  });

  it('that is managed is issued when its action has ended', () => {
    const made = project();
    const { certificate, action } = made.post('/certificates', managed).body;
    assert.equal(action.command, 'create_certificate');
    assert.deepEqual(stateOf(made, certificate.id), {
      status: { issuance: 'pending', renewal: 'unavailable', error: null },
      isIssued: false,
    });
    made.pass(400);
    assert.deepEqual(stateOf(made, certificate.id), {
      status: { issuance: 'completed', renewal: 'scheduled', error: null },
      isIssued: true,
    });
  });

  it('that can not be issued says why, and can be tried again then', () => {
    const made = project({ zones: ['example.org'] });
    const { certificate, action } = made.post('/certificates', managed).body;
    const retry = () => made.post(`/certificates/${certificate.id}/actions/retry`);
    assert.equal(retry().code, 'unsupported_error');
    made.pass(400);
    assert.equal(made.get(`/actions/${action.id}`).body.action.error.code, 'dns_zone_not_found');
    const { status, isIssued } = stateOf(made, certificate.id);
    assert.deepEqual([status.issuance, status.error.code, isIssued], ['failed', 'dns_zone_not_found', false]);
    made.fake.settings.zones = ['example.com'];
    assert.equal(retry().body.action.command, 'issue_certificate');
    assert.equal(stateOf(made, certificate.id).status.issuance, 'pending');
    made.pass(400);
    assert.deepEqual([stateOf(made, certificate.id).isIssued, retry().code], [true, 'unsupported_error']);
  });

  it('whose renewal failed keeps what it had, and can be tried again', () => {
    const made = project();
    const { id } = made.fake.certificates.create({ name: 'c', domainNames: ['example.com'] });
    made.fake.certificates.fail(id, { code: 'caa_record_does_not_allow_ca', message: 'no' });
    const { status, isIssued } = stateOf(made, id);
    assert.deepEqual([status.issuance, status.renewal, isIssued], ['completed', 'failed', true]);
    made.post(`/certificates/${id}/actions/retry`);
    assert.equal(stateOf(made, id).status.renewal, 'pending');
    made.pass(400);
    assert.equal(stateOf(made, id).status.renewal, 'scheduled');
  });

  it('BUG-055: that is managed can be asked for twenty times in an hour, with the retries', () => {
    const made = project({ zones: [] });
    const ask = (name: string) => made.post('/certificates', { ...managed, name });
    const first = ask('c0').body.certificate.id;
    for (let n = 1; n < 19; n++) assert.equal(ask(`c${n}`).status, 201);
    made.pass(400);
    assert.equal(made.post(`/certificates/${first}/actions/retry`).status, 201);
    const refused = ask('more');
    assert.deepEqual([refused.status, refused.code], [403, 'resource_limit_exceeded']);
    assert.equal(made.post('/certificates', upload).status, 201);
    made.pass(3_600_000);
    assert.equal(ask('more').status, 201);
  });

  it('is unique by name and by content', () => {
    const { post } = project();
    post('/certificates', upload);
    const sameName = post('/certificates', { ...upload, certificate: pem('b') });
    const sameContent = post('/certificates', { ...upload, name: 'other' });
    assert.deepEqual([sameName.code, sameName.message], ['uniqueness_error', 'name is already used']);
    assert.deepEqual([sameContent.code, sameContent.message], ['uniqueness_error', 'certificate already exists']);
    assert.equal(post('/certificates', { ...managed, name: 'mine' }).code, 'uniqueness_error');
  });

  it('is listed by type, name and labels, and changed by PUT', () => {
    const { fake, get, call } = project();
    const { id } = fake.certificates.create({ name: 'a' });
    fake.certificates.create({ name: 'b', domainNames: ['example.com'] });
    call('PUT', `/certificates/${id}`, { name: 'c', labels: { x: 'y' } });
    for (const query of ['type=uploaded', 'name=c', 'label_selector=x%3Dy'])
      assert.deepEqual(
        get(`/certificates?${query}`).body.certificates.map((one: { id: number }) => one.id),
        [id],
      );
    assert.equal(call('PUT', `/certificates/${id}`, { name: 'b' }).code, 'uniqueness_error');
  });

  it('that is used can not be deleted', () => {
    const { fake, post, get, call, pass } = project();
    const { id } = fake.certificates.create({ name: 'a' });
    fake.loadBalancers.create({
      id: 7,
      name: 'lb',
      services: [{ protocol: 'https', listenPort: 443, http: { certificates: [id] } }],
    });
    assert.deepEqual(get(`/certificates/${id}`).body.certificate.used_by, [{ id: 7, type: 'load_balancer' }]);
    const refused = call('DELETE', `/certificates/${id}`);
    assert.deepEqual(
      [refused.status, refused.code, refused.message],
      [422, 'service_error', 'certificate still in use'],
    );
    post('/load_balancers/7/actions/delete_service', { listen_port: 443 });
    pass(400);
    assert.equal(call('DELETE', `/certificates/${id}`).status, 204);
    assert.equal(get(`/certificates/${id}`).code, 'not_found');
  });

  it('can not be used before it is issued', () => {
    const { fake, post, pass } = project();
    fake.loadBalancers.create({ id: 7, name: 'lb' });
    const { id } = post('/certificates', managed).body.certificate;
    const use = () =>
      post('/load_balancers/7/actions/add_service', { protocol: 'https', http: { certificates: [id] } });
    assert.equal(use().code, 'invalid_input');
    pass(400);
    assert.equal(use().status, 201);
  });

  const refusals: [what: string, body: object][] = [
    ['without a name', { ...upload, name: undefined }],
    ['without a certificate', { ...upload, certificate: undefined }],
    ['without a key', { ...upload, private_key: undefined }],
    ['that is no PEM', { ...upload, certificate: 'x' }],
    ['with a key that is no PEM', { ...upload, private_key: 'x' }],
    ['with a key beyond 5000 bytes', { ...upload, private_key: key + 'x'.repeat(5_000) }],
    ['with a chain of six', { ...upload, certificate: pem('a').repeat(6) }],
    ['beyond 30000 bytes', { ...upload, certificate: pem('a'.repeat(30_000)) }],
    ['of an unknown type', { ...upload, type: 'borrowed' }],
    ['that is managed without domains', { ...managed, domain_names: [] }],
    ['that is managed with a bad domain', { ...managed, domain_names: [' example.com'] }],
  ];
  for (const [what, body] of refusals)
    it(`is refused ${what}`, () => {
      const { fake, post } = project();
      assert.equal(post('/certificates', body).code, 'invalid_input');
      assert.deepEqual(fake.certificates.list(), []);
    });

  it('may have a chain of five', () => {
    const { post } = project();
    assert.equal(post('/certificates', { ...upload, certificate: pem('a').repeat(5) }).status, 201);
  });
});
