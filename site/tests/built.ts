// SPDX-License-Identifier: Apache-2.0
// The built site as files, and served at a port of this machine.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { kRoot } from '../navigation.ts';

export const kSite = process.env.SITE ?? `${kRoot}build/site_packages/site`;

const kTypes: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** All files of the site, by their paths in it. */
export function filesOf(ending: string): string[] {
  const names = readdirSync(kSite, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(ending) && statSync(join(kSite, name)).isFile());
}

export const read = (name: string): string => readFileSync(join(kSite, name), 'utf8');

/** The file at a path of the site's server; null if there is none. */
export function fileAt(path: string): string | null {
  const name = decodeURIComponent(path.endsWith('/') ? `${path}index.html` : path).slice(1);
  return existsSync(join(kSite, name)) && statSync(join(kSite, name)).isFile() ? name : null;
}

export class Server {
  readonly missing: string[] = [];
  private readonly server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const name = fileAt(pathname);
    if (name === null) {
      this.missing.push(pathname);
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': kTypes[extname(name)] ?? 'text/plain' });
    response.end(readFileSync(join(kSite, name)));
  });

  async start(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
