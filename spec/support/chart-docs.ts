import { renderTable } from '../../lib/settings/reference.ts';
import { rows } from '../../lib/settings/table.ts';
import { upstreamFlags } from '../../lib/settings/upstream-flags.ts';
import { type ChartValue, chartValuesText, type JSONObject, type JSONValue, readChartValues } from './chart-values.ts';

/** What a Go program takes for a boolean, and what templates of other tools make of theirs. */
const BOOLEAN = '^(|1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$';

/** Keys of other charts that are written by mistake: silence would hide it. */
const MISTAKES: Readonly<Record<string, string>> = {
  tolerations: 'additionalTolerations',
  replicas: 'replicaCount',
  extraArgs: 'args',
  extraEnv: 'env',
  clusterCIDR: 'networking.clusterCIDR',
  network: 'networking.network',
};

/** The schema that a default stands for. */
const schemaOf = (fallback: JSONValue): JSONObject => {
  if (typeof fallback === 'boolean')
    return { anyOf: [{ type: 'boolean' }, { type: 'string', pattern: BOOLEAN }, { type: 'null' }] };
  if (typeof fallback === 'number')
    return { anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^[0-9]+%?$' }, { type: 'null' }] };
  if (typeof fallback === 'string') return { type: ['string', 'null'] };
  return { type: [Array.isArray(fallback) ? 'array' : 'object', 'null'] };
};

interface Branch {
  readonly children: Map<string, Branch>;
  value?: ChartValue;
}

const treeOf = (values: readonly ChartValue[]): Branch => {
  const root: Branch = { children: new Map() };
  for (const value of values) {
    let branch = root;
    for (const key of value.path) {
      const next: Branch = branch.children.get(key) ?? { children: new Map() };
      branch.children.set(key, next);
      branch = next;
    }
    branch.value = value;
  }
  return root;
};

const branchSchema = ({ children, value }: Branch): JSONObject => {
  if (value !== undefined) {
    const own = value.schema.enum === undefined ? schemaOf(value.fallback) : {};
    return { description: value.description, default: value.fallback, ...own, ...value.schema };
  }
  const properties = Object.fromEntries([...children].map(([key, child]) => [key, branchSchema(child)]));
  return { type: 'object', additionalProperties: false, properties };
};

/** What editors show on variables and flags: the settings table's own words. */
const settingHints = (): { readonly env: JSONObject; readonly args: JSONObject } => {
  const hint = (description: string): JSONObject => ({ description });
  const settings = rows.map(([, setting]) => setting);
  const env = settings.flatMap(({ variable, fileVariable, description }) =>
    [variable, fileVariable].filter(name => name !== undefined).map(name => [name, hint(description)] as const),
  );
  const args = settings.flatMap(({ flag, description }) =>
    flag === undefined ? [] : [[flag, hint(description)] as const],
  );
  const accepted = Object.keys(upstreamFlags).map(name => [name, hint('Accepted, without effect.')] as const);
  return { env: Object.fromEntries(env), args: Object.fromEntries([...args, ...accepted]) };
};

/** Names the known keys; all keys, known or not, take the same. */
const withHints = ({ additionalProperties: each = {}, ...schema }: JSONObject, hints: JSONObject): JSONObject => ({
  ...schema,
  patternProperties: { '': each },
  properties: hints,
});

/** values.schema.json. Unknown keys at the top are let through, as values files are shared; those below are mistakes. */
export const renderValuesSchema = (): string => {
  const { properties } = branchSchema(treeOf(readChartValues(chartValuesText()))) as {
    readonly properties: { readonly [key: string]: JSONObject };
  };
  const hints = settingHints();
  const mistakes = Object.entries(MISTAKES).map(
    ([key, right]) =>
      [key, { description: `Not a value: see ${right}.`, const: `unset: the key is ${right}` }] as const,
  );
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of hcloud-reactive-controller',
    type: 'object',
    properties: {
      ...properties,
      env: withHints(properties.env ?? {}, hints.env),
      args: withHints(properties.args ?? {}, hints.args),
      ...Object.fromEntries(mistakes),
    },
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
};

const asCode = (value: JSONValue): string => `\`${JSON.stringify(value)}\``;

/** The README of the chart. */
export const renderChartReadme = (): string => {
  const table = renderTable(
    ['Value', 'Default', 'Meaning'],
    readChartValues(chartValuesText()).map(({ path, fallback, description }) => [
      `\`${path.join('.')}\``,
      asCode(fallback),
      description,
    ]),
  );
  return `# Chart of hcloud-reactive-controller

\`\`\`sh
kubectl -n kube-system create secret generic hcloud --from-literal=token=... --from-literal=network=my-network
helm -n kube-system install hcloud-reactive-controller charts/hcloud-reactive-controller --set networking.enabled=true
\`\`\`

Kubelets run with \`--cloud-provider=external\`. Without a private network leave out the \`network\` key and \`networking.enabled\`.
How to come from hcloud-cloud-controller-manager, and go back, is in the README of the project under "Migrate".

- Booleans and numbers may be text. A mistake in a value is an error of Helm that names the key.
- Unknown keys at the top do nothing; the notes after the installation list them.
- Two releases in one cluster need different names (\`nameOverride\`), as ClusterRoles have no namespace, and different leases
  (\`args.leader-elect-resource-name\`) unless one is the other's stand-in.
- The Secret may have any name and keys: override \`env.HCLOUD_TOKEN\`, \`env.ROBOT_USER\`, \`env.ROBOT_PASSWORD\` and
  \`networking.network\`.

## Values

${table}

The variables and flags that \`env\` and \`args\` take are listed in docs/settings.md of the project; values.schema.json describes
them, too, for editors.
`;
};
