// SPDX-License-Identifier: Apache-2.0
// What a page hears of a daemon, as a test wants it: nothing happens here by itself.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions } from 'playwright-core';
import type { LiveChange } from '../../src/wire.ts';
import { snapshot, state, why, type State } from '../made.ts';

const kPage = new URL('../../../build/web/page/', import.meta.url);
const kCookie = 'berth=of-the-browser';
const kKey = 'of-the-page';
const kFiles: Record<string, [string, string]> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/app.css': ['app.css', 'text/css; charset=utf-8'],
  '/opened.js': ['opened.js', 'text/javascript; charset=utf-8'],
};
// As the daemon's own door has them.
const kHeaders = {
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

export type Sent = { method: string; path: string; body: unknown };

export class FakeDaemon {
  state: State = state();
  /** What was posted. */
  readonly sent: Sent[] = [];
  /** By path, without the query: what is answered. A function is asked each time, with the query. */
  readonly answers = new Map<string, unknown>();
  streamsOpened = 0;
  expired = false;
  /** What opens a session. */
  code = 'K7QD-41MX';
  down = false;
  /** Stands at the end of the page's style sheet. */
  style = '';
  private readonly streams = new Set<ServerResponse>();
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((ready) => this.server.listen(0, '127.0.0.1', ready));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** The state of a browser that has a session at `url`. */
  sessionAt(url: string): BrowserContextOptions['storageState'] {
    const [name, value] = kCookie.split('=') as [string, string];
    return {
      cookies: [
        {
          name,
          value,
          domain: '127.0.0.1',
          path: '/',
          expires: -1,
          httpOnly: true,
          secure: false,
          sameSite: 'Strict',
        },
      ],
      origins: [
        { origin: new URL(url).origin, localStorage: [{ name: 'berth-key', value: kKey }] },
      ],
    };
  }

  async stop(): Promise<void> {
    this.drop();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  get streamsOpen(): number {
    return this.streams.size;
  }

  /** Tells all pages what has changed; the next snapshot has it too. */
  change(fields: Omit<LiveChange, 'sequence' | 'time'>): void {
    const time = new Date(Date.parse(this.state.time) + 1000).toISOString();
    const change: LiveChange = { sequence: this.state.sequence + 1, time, ...fields };
    this.remember(change);
    this.send('change', change);
  }

  send(type: string, data: unknown): void {
    for (const stream of this.streams) stream.write(event(type, data));
  }

  /** Ends all streams, as a daemon does that is killed. */
  drop(): void {
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
  }

  private remember(change: LiveChange): void {
    const leases = new Map(this.state.leases.map((lease) => [lease.id, lease]));
    for (const lease of change.leases ?? []) leases.set(lease.id, lease);
    for (const id of change.gone ?? []) leases.delete(id);
    const devices = new Map(this.state.devices.map((device) => [device.uuid, device]));
    for (const device of change.devices ?? []) devices.set(device.uuid, device);
    this.state = {
      ...this.state,
      sequence: change.sequence,
      time: change.time,
      leases: [...leases.values()].filter((lease) => lease.state !== 'ended'),
      devices: [...devices.values()],
      queue: change.queue ?? this.state.queue,
      events: [...(change.events ?? []), ...this.state.events],
    };
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.down) {
      response.destroy();
      return;
    }
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = url.pathname;
    const file = kFiles[path];
    if (path === '/open') {
      await this.open(request, response);
    } else if (file) {
      this.serveFile(file, request, response);
    } else if (this.expired || request.headers['berth-key'] !== kKey) {
      const error = { code: 'not_yours', message: 'this session is over' };
      response.writeHead(401, kHeaders).end(JSON.stringify({ error }));
    } else if (path === '/v1/live') {
      this.stream(request, response);
    } else {
      await this.answer(url, request, response);
    }
  }

  private serveFile(
    [name, type]: [string, string],
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    if (this.expired || request.headers.cookie !== kCookie) {
      this.signIn(response, '');
      return;
    }
    response.writeHead(200, { ...kHeaders, 'Content-Type': type });
    const text = readFileSync(new URL(name, kPage));
    response.end(name.endsWith('.css') ? `${text}${this.style}` : text);
  }

  private signIn(response: ServerResponse, message: string): void {
    const page = readFileSync(new URL('sign_in.html', kPage), 'utf8');
    response.writeHead(401, {
      ...kHeaders,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy':
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    });
    response.end(page.replace('{{message}}', message));
  }

  // A code is for one use.
  private async open(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const code = new URLSearchParams(await textOf(request)).get('code')?.trim();
    if (code !== this.code) {
      this.signIn(response, '<p role="alert">That code is over, or was never one.</p>');
      return;
    }
    this.code = '';
    this.expired = false;
    response.writeHead(200, {
      ...kHeaders,
      'Content-Type': 'text/html; charset=utf-8',
      'Set-Cookie': `${kCookie}; HttpOnly; SameSite=Strict; Path=/`,
    });
    const page = readFileSync(new URL('opened.html', kPage), 'utf8');
    response.end(page.replace('{{key}}', kKey));
  }

  private stream(request: IncomingMessage, response: ServerResponse): void {
    ++this.streamsOpened;
    response.writeHead(200, { ...kHeaders, 'Content-Type': 'text/event-stream' });
    response.write(event('snapshot', snapshot(this.state)));
    this.streams.add(response);
    request.on('close', () => this.streams.delete(response));
  }

  private async answer(
    { pathname: path, searchParams }: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await textOf(request);
    if (request.method === 'POST') {
      this.sent.push({ method: 'POST', path, body: JSON.parse(body) });
    }
    const known = this.answers.get(path) ?? standard(path);
    const value = typeof known === 'function' ? await known(searchParams) : known;
    const failed = typeof value === 'object' && value !== null && 'error' in value;
    response.writeHead(failed ? 409 : 200, { ...kHeaders, 'Content-Type': 'application/json' });
    response.end(JSON.stringify(value));
  }
}

function standard(path: string): unknown {
  if (path.endsWith('/progress')) return { items: [] };
  if (path.endsWith('/why')) return why(Number(path.split('/')[3]));
  return path.startsWith('/v1/history') ? { items: [], step_ms: 1000 } : {};
}

function event(type: string, data: unknown): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString() || '{}';
}
