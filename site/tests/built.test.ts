// SPDX-License-Identifier: Apache-2.0
// What the built site holds, without a browser.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import MiniSearch from 'minisearch';
import config from '../.vitepress/config.ts';
import { addressOf, kPages, kRoot } from '../navigation.ts';
import { fileAt, filesOf, kSite, read } from './built.ts';

const kPagesBuilt = filesOf('.html');

/** The values of these attributes of these tags. */
function valuesOf(html: string, tags: string, attributes: string): string[] {
  const found = html.matchAll(
    new RegExp(`<(?:${tags})\\b[^>]*?\\s(?:${attributes})="([^"]*)"`, 'g'),
  );
  return [...found].map((one) => (one[1] as string).replaceAll('&amp;', '&'));
}

const idsOf = new Map(
  kPagesBuilt.map((name) => [
    name,
    new Set([...read(name).matchAll(/\sid="([^"]*)"/g)].map((one) => one[1] as string)),
  ]),
);

test('each link leads to a file, and each anchor to an id in it', () => {
  const dead: string[] = [];
  let links = 0;
  for (const name of kPagesBuilt) {
    for (const value of valuesOf(read(name), '\\w+', 'href|src')) {
      const url = new URL(value, `http://site/${name}`);
      if (url.host !== 'site' || url.protocol !== 'http:') continue;
      ++links;
      const file = fileAt(url.pathname);
      const id = decodeURIComponent(url.hash.slice(1));
      if (file === null || (id !== '' && !idsOf.get(file)?.has(id))) dead.push(`${name}: ${value}`);
    }
  }
  assert.deepEqual(dead, []);
  assert.ok(links > 1000, `${links} links`);
});

test('each page of the repository is built, and nothing else', () => {
  const expected = [...kPages].map((page) => fileAt(addressOf(page)) ?? page);
  assert.deepEqual(kPagesBuilt.sort(), [...expected, '404.html'].sort());
});

test('each document is reachable from the navigation', () => {
  const home = read('index.html');
  const aside = home.slice(home.indexOf('<aside class="VPSidebar"'), home.indexOf('</aside>'));
  const listed = new Set(valuesOf(aside, 'a', 'href'));
  const documents = ['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(kRoot + folder)
      .filter((name) => /\.md$/.test(name) && !name.startsWith('0000-'))
      .map((name) => `${folder}/${name}`),
  );
  const missing = documents.filter((page) => !listed.has(addressOf(page)));
  assert.deepEqual(missing, []);
  assert.ok(documents.length > 100, `${documents.length} documents`);
});

test('nothing is loaded from elsewhere', () => {
  const loaded: string[] = [];
  for (const name of kPagesBuilt) {
    const html = read(name);
    loaded.push(
      ...valuesOf(html, 'script|img|iframe|source|video|audio|embed|object|link', 'src|href|data'),
    );
    for (const set of valuesOf(html, 'img|source', 'srcset')) loaded.push(...set.split(/,\s*/));
  }
  for (const name of filesOf('.css')) {
    loaded.push(...[...read(name).matchAll(/url\(\s*["']?([^"')]*)/g)].map((one) => `${one[1]}`));
    loaded.push(...[...read(name).matchAll(/@import\s*["']([^"']*)/g)].map((one) => `${one[1]}`));
  }
  for (const name of filesOf('.js')) {
    const calls = /\b(?:from|import|import\(|fetch\(|Worker\()\s*["'`]([^"'`]*)/g;
    loaded.push(...[...read(name).matchAll(calls)].map((one) => one[1] as string));
  }
  for (const name of filesOf('.svg'))
    loaded.push(...valuesOf(read(name), '\\w+', '(?:xlink:)?href'));
  assert.ok(loaded.length > 500, `${loaded.length} loaded`);
  assert.deepEqual(
    loaded.filter((value) => /^(\w+:)?\/\//.test(value)),
    [],
  );
});

test('the search finds what a page is about', async () => {
  const chunk = filesOf('.js').find((name) => name.includes('localSearchIndex')) as string;
  const { default: json } = (await import(`${kSite}/${chunk}`)) as { default: string };
  const { search } = config.themeConfig ?? {};
  assert.ok(search?.provider === 'local');
  const index = MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: search.options?.miniSearch?.searchOptions ?? {},
  });
  const found = (words: string) => index.search(words).map((one) => `${one.id}`.split('#')[0]);
  assert.equal(found('suspend')[0], '/docs/suspend.html');
  assert.equal(found('prometheus')[0], '/docs/metrics.html');
  assert.ok(found('hold back').slice(0, 5).includes('/docs/glossary.html'));
  assert.deepEqual(found('xyzzyplugh'), []);
});
