// SPDX-License-Identifier: Apache-2.0
// The one stream of the daemon, shared among the tabs of a browser. An edge.
import type { News } from './live.ts';
import type { LiveChange, LiveSnapshot } from './wire.ts';
import { keyHeader } from './key.ts';
import { SseParser } from './sse.ts';

/** Where the page hears of the daemon. */
const kStream = '/v1/live';

/** Without a word for so long, the stream is opened anew. */
const kSilenceMs = 40_000;
const kRetryMs = [1000, 2000, 4000, 8000, 15_000] as const;

export type Listener = {
  news(news: News): void;
  /** In how many ms it is tried again. */
  retry(inMs: number): void;
};

type Shared = { from: 'leader'; type: string; data: string } | { from: 'follower' };

/** Opens the stream, or listens to the tab that has it. `current` is what this tab knows, for a tab
 *  that comes later. */
export class Connection {
  private request: AbortController | null = null;
  private channel: BroadcastChannel | null = null;
  private watchdog = 0;
  private timer = 0;
  private failures = 0;
  private leads = false;

  private readonly listener: Listener;
  private readonly current: () => LiveSnapshot | null;

  constructor(listener: Listener, current: () => LiveSnapshot | null) {
    this.listener = listener;
    this.current = current;
  }

  start(): void {
    if (!('locks' in navigator) || !('BroadcastChannel' in globalThis)) {
      this.leads = true;
      this.open();
      return;
    }
    this.channel = new BroadcastChannel('berth-live');
    this.channel.onmessage = (event: MessageEvent<Shared>) => this.hear(event.data);
    this.channel.postMessage({ from: 'follower' } satisfies Shared);
    // Held until this tab is closed; then another one leads.
    void navigator.locks.request('berth-live', () => {
      this.leads = true;
      this.open();
      return new Promise<never>(() => {});
    });
  }

  /** The stream from its beginning: what was heard does not follow on what is known. */
  restart(): void {
    if (!this.leads) {
      this.channel?.postMessage({ from: 'follower' } satisfies Shared);
      return;
    }
    this.open();
  }

  private open(): void {
    clearTimeout(this.timer);
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    this.watch();
    void this.read(request.signal)
      .catch(() => 'lost' as const)
      .then((end) => {
        // One that was replaced by a newer one says nothing more.
        if (this.request === request) this.fail(end);
      });
  }

  // Not by EventSource: that cannot carry the key.
  private async read(signal: AbortSignal): Promise<'lost' | 'expired'> {
    const answer = await fetch(kStream, {
      signal,
      cache: 'no-store',
      headers: { Accept: 'text/event-stream', ...keyHeader() },
    });
    if (answer.status === 401) return 'expired';
    if (!answer.ok || !answer.body) return 'lost';
    const parser = new SseParser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'lost';
      for (const { type, data } of parser.take(value)) {
        if (signal.aborted) return 'lost';
        this.channel?.postMessage({ from: 'leader', type, data } satisfies Shared);
        this.take(type, data);
      }
    }
  }

  private hear(message: Shared): void {
    if (message.from === 'leader') {
      if (!this.leads) this.take(message.type, message.data);
      return;
    }
    const known = this.leads ? this.current() : null;
    if (!known || !this.channel) return;
    const data = JSON.stringify(known);
    this.channel.postMessage({ from: 'leader', type: 'snapshot', data } satisfies Shared);
  }

  private take(type: string, data: string): void {
    if (type !== 'lost' && type !== 'expired') this.watch();
    const at = Date.now();
    switch (type) {
      case 'snapshot':
        this.failures = 0;
        this.listener.news({ kind: 'snapshot', at, snapshot: JSON.parse(data) as LiveSnapshot });
        break;
      case 'change':
        this.listener.news({ kind: 'change', at, change: JSON.parse(data) as LiveChange });
        break;
      case 'heartbeat':
        this.listener.news({
          kind: 'heartbeat',
          at,
          time: (JSON.parse(data) as { time: string }).time,
        });
        break;
      case 'lost':
        this.listener.news({ kind: 'lost', at });
        break;
      case 'expired':
        this.listener.news({ kind: 'expired', at });
        break;
      default:
        this.restart();
    }
  }

  private tell(type: 'lost' | 'expired'): void {
    this.channel?.postMessage({ from: 'leader', type, data: '' } satisfies Shared);
    this.take(type, '');
  }

  private watch(): void {
    clearTimeout(this.watchdog);
    if (!this.leads) return;
    this.watchdog = window.setTimeout(() => this.fail('lost'), kSilenceMs);
  }

  // A stream that is taken and closed at once counts as a failure too.
  private fail(end: 'lost' | 'expired'): void {
    this.request?.abort();
    this.request = null;
    clearTimeout(this.watchdog);
    this.tell(end);
    if (end === 'lost') this.retry();
  }

  private retry(): void {
    const wait = kRetryMs[Math.min(this.failures, kRetryMs.length - 1)] ?? 1000;
    this.failures += 1;
    // Not all pages at once after a restart of the daemon.
    const jittered = wait * (0.75 + Math.random() / 2);
    this.listener.retry(jittered);
    this.timer = window.setTimeout(() => this.open(), jittered);
  }

  /** At once, because the user asks. */
  tryNow(): void {
    if (this.leads) this.open();
  }
}
