// SPDX-License-Identifier: Apache-2.0
// Which pages there are, in the order in which they are offered. A page of docs/ that no group
// names fails the tests; decisions and measurements are listed by themselves.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export const kRoot = new URL('..', import.meta.url).pathname;
export const kHome = 'README.md';

/** Groups, each with its pages by their paths in the repository. */
export const kGroups: Record<string, string[]> = {
  Start: [kHome, 'docs/start.md', 'docs/migrating.md', 'docs/simulated-gpu.md', 'docs/glossary.md'],
  Use: [
    'docs/jobs.md',
    'docs/plan.md',
    'docs/scheduling.md',
    'docs/top.md',
    'docs/dashboard.md',
    'docs/messages.md',
    'docs/suspend.md',
    'docs/checkpoints.md',
    'docs/pressure.md',
    'docs/estimate.md',
    'docs/alerts.md',
    'docs/history.md',
  ],
  'Agents and tools': ['docs/agents.md', 'docs/python.md', 'docs/library.md'],
  Administer: [
    'docs/operations.md',
    'docs/security.md',
    'docs/guard.md',
    'docs/containers.md',
    'docs/metrics.md',
  ],
  Train: [
    'docs/training.md',
    'docs/checkpoint-files.md',
    'docs/benchmark-protocol.md',
    'docs/hybrid-results.md',
  ],
  Reference: ['docs/cli.md', 'docs/config.md', 'docs/protocol.md', 'docs/store.md', 'CHANGELOG.md'],
  Development: [
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'STYLE.md',
    'docs/extending.md',
    'docs/simulation.md',
    ...pagesIn('docs/measurements'),
  ],
  Decisions: pagesIn('docs/decisions').filter((page) => !page.includes('/0000-')),
};

export const kPages = new Set(Object.values(kGroups).flat());

function pagesIn(folder: string): string[] {
  if (!existsSync(kRoot + folder)) return [];
  const names = readdirSync(kRoot + folder).filter((name) => name.endsWith('.md'));
  return names.sort().map((name) => `${folder}/${name}`);
}

/** What a page is called in lists: its title, up to a colon. */
export function labelOf(page: string): string {
  if (page === kHome) return 'What Berth is';
  const title = /^# (.*)$/m.exec(readFileSync(kRoot + page, 'utf8'))?.[1] ?? page;
  return title.replaceAll('`', '').split(': ')[0] as string;
}

/** Where the site has a page: the README is what it opens with. */
export const addressOf = (page: string): string =>
  page === kHome ? '/' : `/${page.replace(/\.md$/, '.html')}`;
