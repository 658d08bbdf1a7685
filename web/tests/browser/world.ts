// SPDX-License-Identifier: Apache-2.0
// A browser, and the states in which pages are looked at.
import { after, before } from 'node:test';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { FakeDaemon } from './daemon.ts';
import { device, kGiB, kNow, lease, part, state, waiting, why, type State } from '../made.ts';

const at = (minutes: number) => new Date(kNow + minutes * 60_000).toISOString();

/** Two devices, leases of three users, a set, requests that wait, an alert. */
export function busy(): State {
  const leases = [
    lease(11, {
      name: 'notebook-ft',
      state: 'suspended',
      devices: [part(1, 14, 0)],
      started: at(-78),
      halted: { reason: 'paused', since: at(-23), cause: null, for: null, idle_ms: null },
      paused: { since: at(-23), until: null, reason: null, by: 'ana', by_id: 1000 },
    }),
    lease(12, {
      name: 'hybrid-train',
      devices: [part(0, 11, 9.8)],
      started: at(-62),
      expected_end: at(14),
      checkpoint: {
        by: 'library',
        grace_ms: 60_000,
        every_ms: null,
        asked: null,
        last: null,
        saved: at(-17),
      },
    }),
    lease(13, {
      name: 'notebook',
      devices: [part(0, 3, 2.1)],
      started: at(-12),
      idle_since: at(-9),
      expected_end: at(6),
    }),
    lease(15, {
      name: 'vllm-qwen',
      user: 'ben',
      user_id: 1001,
      devices: [part(1, 32, 30.6)],
      started: at(-252),
      idle_since: at(-26),
      command: null,
    }),
    lease(19, {
      name: 'eval-llama',
      devices: [part(1, 12, 10.2)],
      started: at(-22),
      expected_end: at(22),
      flags: ['checkpointing'],
    }),
    waiting(21, { name: 'finetune-8b', vram_requested_bytes: 24 * kGiB, queued: at(-18) }),
    waiting(22, { name: 'sd-xl', user: 'ben', user_id: 1001, queued: at(-6) }),
    waiting(17, {
      name: 'sweep-lr',
      user: 'lab',
      user_id: 1002,
      set: { begun: 18, ended: 16, failed: 1 },
      members: 60,
    }),
    ...[17, 18].map((number) =>
      lease(24 + number, {
        name: 'sweep-lr',
        user: 'lab',
        user_id: 1002,
        devices: [part(1, 8, 7)],
        started: at(-20),
        member: { set: 17, number },
      }),
    ),
  ];
  return state({
    devices: [
      device(0, {
        vram_total_bytes: 16 * kGiB,
        vram_used_bytes: 12.3 * kGiB,
        vram_unmanaged_bytes: 0.4 * kGiB,
        vram_held_back_bytes: 0.6 * kGiB,
        vram_granted_bytes: 14 * kGiB,
        vram_grantable_bytes: 1.4 * kGiB,
        gpu_utilization_percent: 87,
        temperature_celsius: 61,
        power_milliwatts: 238_000,
        power_limit_milliwatts: 360_000,
        leases: [12, 13],
        unmanaged_processes: [
          {
            pid: 900,
            start_ticks: 1,
            user: 'ana',
            user_id: 1000,
            name: 'firefox',
            vram_used_bytes: 0.4 * kGiB,
            gpu_utilization_percent: 0,
            lease: null,
          },
        ],
      }),
      device(1, {
        model: 'H100 PCIe',
        vram_total_bytes: 80 * kGiB,
        vram_used_bytes: 56 * kGiB,
        vram_unmanaged_bytes: 1 * kGiB,
        vram_held_back_bytes: 2 * kGiB,
        vram_granted_bytes: 60 * kGiB,
        vram_grantable_bytes: 18 * kGiB,
        gpu_utilization_percent: 93,
        temperature_celsius: 91,
        power_milliwatts: 291_000,
        power_limit_milliwatts: 350_000,
        throttle: 'thermal',
        leases: [15, 19, 41, 42],
      }),
    ],
    leases,
    queue: [21, 22, 17],
    alerts: [
      {
        name: 'gpu-high',
        state: 'firing',
        since: at(-11),
        when: 'gpu.mem_used > 62%',
        severity: 'warn',
        repeat_ms: 0,
        channels: [],
        undelivered: 0,
        last_delivery: null,
        standing: [
          {
            subject: { kind: 'device', id: 'GPU-0', name: 'RTX 5080' },
            state: 'firing',
            text: 'GPU 0 uses 77 % of its memory',
            since: at(-11),
          },
        ],
      },
    ],
    events: [
      { verb: 'checkpoint', lease: 19, minutes: -1, by: 'ana', name: 'eval-llama', reason: null },
      { verb: 'refuse', lease: 41, minutes: -8, by: null, name: 'sweep-lr', reason: '2.0 GiB' },
      { verb: 'grant', lease: 13, minutes: -12, by: null, name: 'notebook', reason: '3.0 GiB' },
    ].map(({ minutes, ...event }) => ({
      ...event,
      verb: event.verb as 'grant',
      time: at(minutes),
      by_id: null,
      user: 'ana',
      user_id: 1000,
    })),
  });
}

/** What the daemon says of the requests of `busy`. */
export function reasonsOf(daemon: FakeDaemon): void {
  const remedy = { vram_bytes: null, uuid: null, also: [] };
  const shortage = {
    uuid: 'GPU-1',
    index: 1,
    vram_total_bytes: 80 * kGiB,
    vram_held_back_bytes: 2 * kGiB,
    vram_charged_bytes: 60 * kGiB,
    vram_grantable_bytes: 18 * kGiB,
    vram_missing_bytes: 6 * kGiB,
    vram_unmanaged_bytes: 0,
  };
  daemon.answers.set(
    '/v1/leases/21/why',
    why(21, {
      shortages: [shortage],
      expected_start: at(38.5),
      remedies: [
        { ...remedy, kind: 'ask_less', id: null, vram_bytes: 18 * kGiB },
        { ...remedy, kind: 'pause_lease', id: 19 },
        { ...remedy, kind: 'pause_lease', id: 15 },
      ],
    }),
  );
  daemon.answers.set('/v1/leases/22/why', why(22, { reason: 'turn', ahead: [21], ahead_count: 1 }));
}

let browser: Browser | null = null;

/** Starts the browser before the tests of a file, and ends it after them. `environment`: what it has
 *  beside that of the tests. */
export function withBrowser(environment: Record<string, string> = {}): void {
  before(async () => {
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      env: { ...process.env, ...environment },
      args: ['--no-sandbox', '--js-flags=--expose-gc'],
    });
  });
  after(async () => browser?.close());
}

export type Opened = { daemon: FakeDaemon; page: Page; errors: string[] };

/** Opens the page of a daemon in that state, hands it to `use`, and finds no error in its console.
 *  `before`: what is done before the page is loaded. */
export async function visit(
  state: State,
  options: BrowserContextOptions,
  use: (opened: Opened) => Promise<void>,
  before: (opened: Opened) => Promise<void> = async () => {},
): Promise<void> {
  const daemon = new FakeDaemon();
  daemon.state = state;
  reasonsOf(daemon);
  const url = await daemon.start();
  const context = await (browser as Browser).newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    storageState: daemon.sessionAt(url) as NonNullable<BrowserContextOptions['storageState']>,
    ...options,
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // The browser tells of a daemon that is down, and of what it refuses.
    if (message.type() === 'error' && !/net::ERR_|status of 4(01|09)/.test(message.text())) {
      errors.push(message.text());
    }
  });
  try {
    await before({ daemon, page, errors });
    await page.goto(url);
    // All of the page is there, or the form for a code.
    await page.locator('.side, form').first().waitFor();
    await use({ daemon, page, errors });
    if (errors.length > 0) throw new Error(`the page has errors: ${errors.join('; ')}`);
  } finally {
    await context.close();
    await daemon.stop();
  }
}
