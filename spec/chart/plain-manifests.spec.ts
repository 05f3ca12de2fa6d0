import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { loadAll } from 'js-yaml';
import { manifestPath, plainManifests, renderManifest } from './plain-manifests.ts';
import { container, envOf, only, podSpec, type Rendered, skipWithoutHelm, workload } from './render.ts';

const read = (path: string): string => readFileSync(manifestPath(path), 'utf8');
const objectsOf = (text: string): readonly Rendered[] => loadAll(text) as Rendered[];

describe('the plain manifests', () => {
  for (const { path } of plainManifests) {
    it(`${path} bears the names and labels of the peer, none of Helm`, () => {
      const text = read(path);
      const objects = objectsOf(text);
      assert.ok(!/helm/i.test(text.replace(/^#.*/, '')));
      const { metadata, spec } = workload(objects);
      assert.deepEqual([metadata.name, metadata.namespace], ['hcloud-cloud-controller-manager', 'kube-system']);
      assert.deepEqual(spec.selector, { matchLabels: { app: 'hcloud-cloud-controller-manager' } });
      assert.equal(container(objects).name, 'hcloud-cloud-controller-manager');
      assert.equal(
        only(objects, 'ClusterRoleBinding').metadata.name,
        'system:hcloud-cloud-controller-manager:restricted',
      );
    });

    it(`RC-04: ${path} has its flags double-quoted, one a line, and an item for ROBOT_USER with an optional secret`, () => {
      const text = read(path);
      const flags = /\n {10}args:\n((?: {12}- .*\n)+)/.exec(text)?.[1]?.trimEnd().split('\n') ?? [];
      assert.ok(flags.length > 4);
      for (const flag of flags) assert.match(flag, /^ {12}- "--[^"]+"$/);
      assert.match(
        text,
        /\n {12}- name: ROBOT_USER\n {14}valueFrom:\n {16}secretKeyRef:\n(?: {18}.*\n)* {18}optional: true\n/,
      );
    });
  }

  it('BUG-081, RC-04: the text edits of installers come through', () => {
    const edited = read('deploy/ccm-networks.yaml')
      .replaceAll(/--cluster-cidr=[^"]+/g, '--cluster-cidr=10.42.0.0/16')
      .replace(
        /^( *)- name: ROBOT_USER\n/m,
        (line, indent: string) => `${indent}- name: ROBOT_ENABLED\n${indent}  value: "true"\n${line}`,
      );
    const objects = objectsOf(edited);
    assert.deepEqual(
      container(objects).args.filter(arg => arg.startsWith('--cluster-cidr')),
      ['--cluster-cidr=10.42.0.0/16'],
    );
    assert.equal(envOf(objects).ROBOT_ENABLED, 'true');
    assert.equal(envOf(objects).ROBOT_USER, 'hcloud/robot-user');
  });

  it('differ in the network: the host its pod is in, and the variable', () => {
    const [without, networks] = plainManifests.map(({ path }) => objectsOf(read(path)));
    assert.ok(without && networks);
    assert.deepEqual([podSpec(without).hostNetwork, podSpec(networks).hostNetwork], [undefined, true]);
    assert.deepEqual([envOf(without).HCLOUD_NETWORK, envOf(networks).HCLOUD_NETWORK], [undefined, 'hcloud/network']);
    assert.ok(!container(without).args.some(arg => arg.startsWith('--cluster-cidr')));
  });
});

describe('the plain manifests and the chart', { skip: await skipWithoutHelm() }, () => {
  for (const manifest of plainManifests) {
    it(`agree on ${manifest.path}; run "make manifests" after changing the chart`, async () => {
      assert.equal(read(manifest.path), await renderManifest(manifest));
    });
  }
});
