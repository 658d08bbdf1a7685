// SPDX-License-Identifier: Apache-2.0
// The site of the documents. Pages stay where they are in the repository.
import { defineConfig } from 'vitepress';
import { slugOf, withLinksOfTheRepository } from '../links.ts';
import { addressOf, kGroups, kHome, kRoot, labelOf } from '../navigation.ts';

// The groups whose pages are listed at once.
const kOpen = ['Start', 'Use', 'Agents and tools'];

// A page becomes a module beside its source, above all packages; what renders it at build time looks
// for Vue from below site/, where it is found.
const kVueOfTheBuild = {
  name: 'vue-of-the-build',
  enforce: 'pre' as const,
  resolveId: (id: string, _: unknown, options: { ssr?: boolean }) =>
    options.ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null,
};

// What a command prints: plain, but for what stands for anything.
const kOutput = {
  name: 'output',
  scopeName: 'text.output',
  patterns: [{ match: '…', name: 'comment' }],
  repository: {},
};

// Pages that say how it is come before those that say why, or what changed.
const kSearch = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument: (id: string) => (/\/decisions\/|\/CHANGELOG/.test(id) ? 0.4 : 1),
};

export default defineConfig({
  title: 'Berth',
  description: 'Shares the GPUs of a machine: leases of memory, a queue, and reasons.',
  lang: 'en',
  srcDir: kRoot,
  srcExclude: ['!(docs)/**/*', 'docs/decisions/0000-*.md'],
  cacheDir: `${kRoot}build/site_packages/cache`,
  rewrites: { [kHome]: 'index.md' },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  vite: { plugins: [kVueOfTheBuild], build: { chunkSizeWarningLimit: 2000 } },
  markdown: {
    // What stands in the documents is text: no tags, no faces made of punctuation, no attributes.
    html: false,
    attrs: { disable: true },
    config: (md) => {
      md.disable('emoji', true);
      withLinksOfTheRepository(md);
    },
    anchor: { slugify: slugOf },
    languages: [kOutput],
  },
  themeConfig: {
    nav: ['docs/start.md', 'docs/cli.md', 'docs/glossary.md', 'CHANGELOG.md'].map((page) => ({
      text: labelOf(page),
      link: addressOf(page),
    })),
    sidebar: Object.entries(kGroups).map(([text, pages]) => ({
      text,
      collapsed: !kOpen.includes(text),
      items: pages.map((page) => ({ text: labelOf(page), link: addressOf(page) })),
    })),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions: kSearch } },
    },
  },
});
