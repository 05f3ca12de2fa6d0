import { decodeCertificate } from './lb-decode.ts';
import { encodeCertificate } from './lb-encode.ts';
import type { Certificate, CertificateBody, Created } from './lb-types.ts';
import { createResourceCalls } from './resource-calls.ts';
import type { Call } from './retry.ts';
import type { Action, CallOptions } from './types.ts';

/** Certificates of the project. Everything rejects with a HetznerError or the signal's reason. */
export interface Certificates {
  listCertificates(o: CallOptions): Promise<readonly Certificate[]>;
  getCertificate(id: number, o: CallOptions): Promise<Certificate | undefined>;
  /** The action issues a managed certificate; it can run for minutes. */
  createCertificate(body: CertificateBody, o: CallOptions): Promise<Created<Certificate>>;
  /** Issues a managed certificate again whose issuance or renewal failed. */
  retryCertificate(id: number, o: CallOptions): Promise<Action>;
  /** Fails with `service_error` while it is used. */
  deleteCertificate(id: number, o: CallOptions): Promise<void>;
}

export const createCertificates = (call: Call): Certificates => {
  const { list, get, write, act, remove } = createResourceCalls(call);
  return {
    listCertificates: o => list('/certificates', 'certificates', [['sort', 'id:asc']], decodeCertificate, o),
    getCertificate: (id, o) => get(`/certificates/${id}`, 'certificate', decodeCertificate, o),
    createCertificate: (body, o) =>
      write('POST', '/certificates', 'certificate', encodeCertificate(body), decodeCertificate, o),
    retryCertificate: (id, o) => act(`/certificates/${id}/actions/retry`, undefined, o),
    deleteCertificate: (id, o) => remove(`/certificates/${id}`, o),
  };
};
