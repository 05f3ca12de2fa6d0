import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/**
 * Hetzner's OpenAPI document as a judge of the fake's answers. It is not part of the project: found by OPENAPI_CLOUD or
 * in `../shared/openapi` beside the repository; without it nothing is judged.
 */

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json'?: { readonly schema: object } } }>
  >;
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

function load(): Paths | undefined {
  const place = process.env.OPENAPI_CLOUD ?? new URL('../../../../shared/openapi/cloud.spec.json', import.meta.url);
  try {
    return (JSON.parse(readFileSync(place, 'utf8')) as { paths: Paths }).paths;
  } catch (err) {
    if (process.env.OPENAPI_CLOUD !== undefined) throw err;
    return undefined;
  }
}

const paths = load();

/** Reason to skip, or false when the document is there. */
export const noContract: string | false = paths === undefined && 'no OpenAPI document: set OPENAPI_CLOUD to its path';

const ajv = new Ajv2020({ strict: false, allErrors: true });
// The module's default export hides behind another one in the eyes of the type checker.
(formats as unknown as (target: Ajv2020) => void)(ajv);
for (const name of ['int64', 'int32', 'decimal', 'double']) ajv.addFormat(name, true);

const compiled = new Map<string, ValidateFunction | undefined>();

function validatorFor(method: string, route: string, status: number): ValidateFunction | undefined {
  const key = `${method} ${route} ${status}`;
  if (!compiled.has(key)) {
    const responses = paths?.[route]?.[method.toLowerCase()]?.responses;
    const response = responses?.[String(status)] ?? responses?.[`${Math.floor(status / 100)}xx`];
    // Only a refusal may answer what the document does not know (a wrong verb, an unknown path).
    if (paths !== undefined && response === undefined && (responses !== undefined || status < 400))
      throw new Error(`not in the OpenAPI document: ${key}`);
    const schema = response?.content?.['application/json']?.schema;
    compiled.set(key, schema && ajv.compile(schema));
  }
  return compiled.get(key);
}

/** Throws when an answer is not what the document declares for the operation. Says nothing without the document. */
export function checkContract(method: string, route: string, status: number, body: unknown): void {
  const validate = validatorFor(method, route, status);
  if (validate === undefined || validate(body)) return;
  throw new Error(
    `${method} ${route} ${status} breaks the contract: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`,
  );
}

/** Operations whose success was checked so far, as "METHOD route". */
export const checkedOperations = (): string[] =>
  [...compiled.keys()].filter(key => / 2\d\d$/.test(key)).map(key => key.slice(0, key.lastIndexOf(' ')));

/** All operations of the document whose path begins with one of these. */
export const declaredOperations = (prefixes: readonly string[]): string[] =>
  Object.entries(paths ?? {})
    .filter(([route]) => prefixes.some(prefix => route === prefix || route.startsWith(`${prefix}/`)))
    .flatMap(([route, operations]) =>
      Object.keys(operations)
        .map(method => `${method.toUpperCase()} ${route}`)
        .filter(name => /^(GET|POST|PUT|DELETE) /.test(name)),
    );
