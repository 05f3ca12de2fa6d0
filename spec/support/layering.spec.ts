import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, it } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

interface Import {
  readonly file: string;
  /** Path from the root of the repository, or the name of a package. */
  readonly target: string;
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
}

const statement = /^(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const dynamic = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** The imports a source text states, `import x`, `export ... from` and `import()`. */
const importsOf = (file: string, text: string): Import[] => {
  const target = (specifier: string): string =>
    specifier.startsWith('.')
      ? relative(root, resolve(root, dirname(file), specifier))
          .split(sep)
          .join('/')
      : specifier;
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
  return [
    ...[...code.matchAll(statement)].map(([, type, specifier = '']) => ({
      file,
      target: target(specifier),
      typeOnly: type !== undefined,
      dynamic: false,
    })),
    ...[...code.matchAll(dynamic)].map(([, specifier = '']) => ({
      file,
      target: target(specifier),
      typeOnly: false,
      dynamic: true,
    })),
  ];
};

const sources = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => ({
      file: `${folder}/${name.split(sep).join('/')}`,
      text: readFileSync(join(root, folder, name), 'utf8'),
    }));
const lib = sources('lib');
const spec = sources('spec');
const libImports = lib.flatMap(({ file, text }) => importsOf(file, text));

/** Folders of lib from the bottom up, each with what it may import besides itself. Files in lib itself are above them all. */
const layers: Readonly<Record<string, readonly string[]>> = {
  streams: [],
  settings: [],
  observability: ['streams'],
  kubernetes: ['streams'],
  hetzner: ['streams'],
  controllers: ['streams', 'kubernetes', 'hetzner'],
  simulator: ['streams'],
  plan: ['streams', 'kubernetes', 'hetzner', 'controllers'],
};
/** What folders may know of another without needing it at run time. */
const typesFrom = ['settings', 'observability'];
/** Single files, by who may import what beyond the layers. */
const exceptions: readonly (readonly [from: RegExp, to: RegExp])[] = [
  [/^lib\/controllers\//, /^lib\/observability\/reconcile-id\.ts$/],
  // Annotations are written as flags are.
  [/^lib\/controllers\//, /^lib\/settings\/(go-values|nearest)\.ts$/],
  // The plan is made by what also starts the controllers, but for the writing.
  [/^lib\/plan\//, /^lib\/(controllers|first-contact)\.ts$/],
  // A selector is refused where it is set.
  [/^lib\/settings\/value-types\.ts$/, /^lib\/kubernetes\/label-selector\.ts$/],
  // So are ranges that overlap.
  [/^lib\/settings\/(network-[\w-]+|(ipam-)?rules)\.ts$/, /^lib\/controllers\/ip\.ts$/],
  [/^lib\/simulator\/demo/, /^lib\/(fatal-error|print|runtime-flags|version)\.ts$/],
  // Specs and the demo change the simulated project in the words of the client. What serves its API shares none of them.
  [/^lib\/simulator\/hetzner\/by-hand\//, /^lib\/hetzner\/(types|lb-types|lb-decode|lb-encode)\.ts$/],
];

const folderOf = (path: string): string => /^lib\/([^/]+)\//.exec(path)?.[1] ?? '';

const forbidden = ({ file, target, typeOnly }: Import): boolean => {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (!target.startsWith('lib/') || from === to || from === '') return false;
  if (layers[from]?.includes(to)) return false;
  if (typeOnly && typesFrom.includes(to) && from !== 'streams') return false;
  return !exceptions.some(([who, what]) => who.test(file) && what.test(target));
};
const line = ({ file, target }: Import): string => `${file} imports ${target}`;

describe('the layering', () => {
  it('is known for each folder of lib', () => {
    const folders = new Set(lib.map(({ file }) => folderOf(file)).filter(folder => folder !== ''));
    assert.deepEqual([...folders].sort(), Object.keys(layers).sort());
  });

  it('is kept by every import of lib', () => {
    assert.deepEqual(libImports.filter(forbidden).map(line), []);
  });

  it('lets lib import nothing of spec, and no package that is only there for specs', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const known = new Set([...Object.keys(dependencies), ...builtinModules.map(name => `node:${name}`)]);
    const packageOf = (target: string) => target.split('/', target.startsWith('@') ? 2 : 1).join('/');
    const strangers = libImports.filter(
      ({ target }) => !target.startsWith('lib/') && !known.has(target) && !known.has(packageOf(target)),
    );
    assert.deepEqual(strangers.filter(({ target }) => target !== 'package.json').map(line), []);
  });

  it('lets the simulator be loaded by its own command alone, and only when that is given', () => {
    const intruders = libImports.filter(
      ({ file, target }) => folderOf(target) === 'simulator' && folderOf(file) !== 'simulator',
    );
    assert.deepEqual(
      intruders.map(({ file, dynamic: later }) => [file, later]),
      [['lib/main.ts', true]],
    );
  });

  it('has no cycles between files', () => {
    const edges = Map.groupBy(
      libImports.filter(({ typeOnly, dynamic: later, target }) => !typeOnly && !later && target.startsWith('lib/')),
      ({ file }) => file,
    );
    const state = new Map<string, 'open' | 'done'>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
        return;
      }
      state.set(file, 'open');
      for (const { target } of edges.get(file) ?? []) visit(target, [...path, file]);
      state.set(file, 'done');
    };
    for (const { file } of lib) visit(file, []);
    assert.deepEqual(cycles, []);
  });
});

describe('the sources', () => {
  it('import each file with its suffix, and rxjs as a whole', () => {
    const bad = [...libImports, ...spec.flatMap(({ file, text }) => importsOf(file, text))].filter(
      ({ file, target }) =>
        (/^(lib|spec)\//.test(target) && !/\.(ts|js|json|mjs)$/.test(target)) ||
        (target.startsWith('rxjs/') && !(target === 'rxjs/testing' && file.startsWith('spec/'))),
    );
    assert.deepEqual(bad.map(line), []);
  });

  it('have at most 300 lines in lib', () => {
    const long = lib
      .map(({ file, text }) => ({ file, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > 300);
    assert.deepEqual(long, []);
  });

  it('read the environment in settings and at the edge of the process alone', () => {
    const readers = lib.filter(({ text }) => /\bprocess\s*\.\s*env\b|\benv\b[^;]*from 'node:process'/.test(text));
    const allowed = /^lib\/(settings\/|(run|plan)-command\.ts$|main\.ts$)/;
    assert.deepEqual(
      readers.map(({ file }) => file).filter(file => !allowed.test(file)),
      [],
    );
  });

  it('keep time by timers and clocks that specs can drive', () => {
    const banned = /AbortSignal\.timeout|node:timers\/promises|\bsetImmediate\(|\bperformance\.now\(/;
    const offenders = lib.filter(({ file, text }) => banned.test(text) && file !== 'lib/streams/clock.ts');
    assert.deepEqual(
      offenders.map(({ file }) => file),
      [],
    );
  });
});

describe('the reader of imports', () => {
  it('sees every form there is, and none in comments', () => {
    const text = [
      "import { a } from './a.ts';",
      "import type { b } from '../hetzner/b.ts';",
      'import {\n  c,\n  type d,\n} from "rxjs";',
      "import './e.ts';",
      "export { f } from './f.ts';",
      "export const later = () => import('./g.ts');",
      "// import { h } from './h.ts';",
      "/**\n * import { i } from './i.ts';\n */",
    ].join('\n');
    assert.deepEqual(
      importsOf('lib/streams/x.ts', text).map(
        i => `${i.target}${i.typeOnly ? ' type' : ''}${i.dynamic ? ' later' : ''}`,
      ),
      [
        'lib/streams/a.ts',
        'lib/hetzner/b.ts type',
        'rxjs',
        'lib/streams/e.ts',
        'lib/streams/f.ts',
        'lib/streams/g.ts later',
      ],
    );
  });

  it('tells what may import what', () => {
    const check = (file: string, target: string, typeOnly = false) =>
      forbidden({ file, target, typeOnly, dynamic: false });
    for (const [file, target] of [
      ['lib/streams/x.ts', 'lib/kubernetes/types.ts'],
      ['lib/kubernetes/x.ts', 'lib/hetzner/types.ts'],
      ['lib/hetzner/x.ts', 'lib/controllers/ip.ts'],
      ['lib/simulator/hetzner/x.ts', 'lib/hetzner/types.ts'],
      ['lib/simulator/x.ts', 'lib/kubernetes/types.ts'],
    ] as const) {
      assert.equal(check(file, target), true, file);
      assert.equal(check(file, target, true), true, `${file} type`);
    }
    assert.equal(check('lib/kubernetes/x.ts', 'lib/observability/logger.ts'), true);
    assert.equal(check('lib/kubernetes/x.ts', 'lib/observability/logger.ts', true), false);
    assert.equal(check('lib/controllers/node/x.ts', 'lib/kubernetes/types.ts'), false);
    assert.equal(check('lib/app.ts', 'lib/controllers/ip.ts'), false);
  });
});
