// SPDX-License-Identifier: Apache-2.0
// Links of the documents, which are written for who reads them in the repository.
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { kHome, kPages, kRoot, labelOf } from './navigation.ts';

/** The id of a heading, as hosts of repositories make it. */
export function slugOf(heading: string): string {
  const kept = heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, '');
  return kept.replace(/\s/g, '-');
}

export type Target =
  | { kind: 'elsewhere' }
  | { kind: 'page'; page: string; href: string }
  | { kind: 'file'; path: string };

/** What a link of `page` leads to; a file that is no page is not on the site. */
export function targetOf(page: string, href: string): Target {
  const [path, anchor] = href.split('#') as [string, string?];
  if (path === '' || /^([a-z]+:|\/)/i.test(path)) return { kind: 'elsewhere' };
  const here = posix.dirname(page);
  const file = posix.normalize(posix.join(here, decodeURI(path)));
  if (kPages.has(file)) {
    const to = file === kHome ? posix.relative(here, 'index.md') : path;
    return { kind: 'page', page: file, href: anchor === undefined ? to : `${to}#${anchor}` };
  }
  return existsSync(kRoot + file) ? { kind: 'file', path: file } : { kind: 'elsewhere' };
}

/**
 * Links to the README lead to the first page. A link that reads like a page's file reads like its
 * title. Of links to files that are no pages the text is left, and says which file it is.
 */
export function withLinksOfTheRepository(md: MarkdownRenderer): void {
  md.core.ruler.after('inline', 'links_of_the_repository', (state) => {
    const page = (state.env as { relativePath: string }).relativePath;
    for (const block of state.tokens) {
      const tokens = block.children ?? [];
      let target: Target = { kind: 'elsewhere' };
      tokens.forEach((token, at) => {
        if (token.type === 'link_open') {
          target = targetOf(page, token.attrGet('href') ?? '');
          if (target.kind === 'page') {
            token.attrSet('href', target.href);
            const text = tokens[at + 1];
            const written = posix.basename(text?.content ?? '');
            if (text && written === posix.basename(target.page))
              text.content = labelOf(target.page);
          } else if (target.kind === 'file') {
            token.type = 'file_open';
            token.tag = 'span';
            token.attrs = [
              ['class', 'file'],
              ['title', `${target.path} in the repository`],
            ];
          }
        } else if (token.type === 'link_close' && target.kind === 'file') {
          token.type = 'file_close';
          token.tag = 'span';
        }
      });
    }
  });
}
