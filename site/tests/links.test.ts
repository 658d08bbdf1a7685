// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMarkdownRenderer } from 'vitepress';
import { slugOf, targetOf, withLinksOfTheRepository } from '../links.ts';
import { kRoot } from '../navigation.ts';

test('a heading has the id that hosts of repositories give it', () => {
  assert.equal(slugOf('Sets: one command, many parameters'), 'sets-one-command-many-parameters');
  assert.equal(slugOf('berth run'), 'berth-run');
  assert.equal(slugOf('10 A — B, `c_d`'), '10-a--b-c_d');
});

test('a link leads to a page, to a file of the repository, or elsewhere', () => {
  assert.deepEqual(targetOf('docs/start.md', 'suspend.md#frozen'), {
    kind: 'page',
    page: 'docs/suspend.md',
    href: 'suspend.md#frozen',
  });
  assert.deepEqual(targetOf('docs/start.md', '../README.md#try-it'), {
    kind: 'page',
    page: 'README.md',
    href: '../index.md#try-it',
  });
  assert.deepEqual(targetOf('index.md', 'docs/start.md'), {
    kind: 'page',
    page: 'docs/start.md',
    href: 'docs/start.md',
  });
  assert.deepEqual(targetOf('docs/guard.md', '../src/shared/abi'), {
    kind: 'file',
    path: 'src/shared/abi',
  });
  for (const href of ['#here', 'https://example.org/a.md', 'missing.md', '/docs/start.html']) {
    assert.deepEqual(targetOf('docs/start.md', href), { kind: 'elsewhere' }, href);
  }
});

test('links are rendered as what they lead to', async () => {
  const md = await createMarkdownRenderer(kRoot, { config: withLinksOfTheRepository });
  const rendered = (text: string) => md.render(text, { relativePath: 'docs/start.md' }).trim();
  assert.equal(
    rendered('[the driver](../src/shared/abi) and [`LICENSE`](../LICENSE)'),
    '<p><span class="file" title="src/shared/abi in the repository">the driver</span> and ' +
      '<span class="file" title="LICENSE in the repository"><code>LICENSE</code></span></p>',
  );
  assert.equal(
    rendered('[docs/suspend.md](suspend.md#frozen) and [so](../README.md)'),
    '<p><a href="./suspend.html#frozen">Suspend and resume</a> and ' + '<a href="./../">so</a></p>',
  );
});
