// SPDX-License-Identifier: Apache-2.0
// States of the page whose pictures are kept: all that is seen is the same each time.
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { AlertRule, DoctorFinding, Past, PastPoint, ProgressPoint } from '../../src/wire.ts';
import type { FakeDaemon } from '../browser/daemon.ts';
import { busy } from '../browser/world.ts';
import { kGiB, kNow, type State } from '../made.ts';

export type Look = {
  name: string;
  options?: BrowserContextOptions;
  /** Which part of the page is in the picture; all of it where this is missing. */
  part?: string;
  /** What is done before. */
  go?(page: Page, daemon: FakeDaemon): Promise<void>;
};

/** Trains, and is a job of the one who looks. */
const kTraining = 12;
const kMinutes = 60;
const at = (minutes: number) => new Date(kNow + minutes * 60_000).toISOString();

const kPhone: BrowserContextOptions = { viewport: { width: 390, height: 844 } };

export const kLooks: readonly Look[] = [
  { name: 'light' },
  { name: 'dark', options: { colorScheme: 'dark' } },
  { name: 'phone', options: kPhone },
  {
    name: 'details',
    options: { viewport: { width: 1440, height: 1300 } },
    part: '.drawer',
    async go(page) {
      await page.locator(`tr[data-lease="${kTraining}"] a`).first().click();
      await page.getByRole('img', { name: /^Loss:/ }).waitFor();
      await page.locator('.drawer .lease-chart').first().waitFor();
      await page.getByRole('button', { name: 'Show what it printed' }).click();
      await page.getByRole('log').getByText('step 4810').waitFor();
    },
  },
  { name: 'queue', part: '.queue' },
  {
    name: 'alerts',
    async go(page) {
      await page.getByRole('link', { name: 'Alerts' }).click();
      await page.getByRole('button', { name: 'Look now' }).click();
      await page.locator('.findings').waitFor();
    },
  },
  {
    name: 'disconnected',
    options: { viewport: { width: 1440, height: 700 } },
    part: 'window',
    async go(page, daemon) {
      daemon.down = true;
      daemon.drop();
      await page.getByRole('alert').getByText('No connection to the daemon').waitFor();
    },
  },
];

/** The machine of all of them. */
export function machine(): State {
  const shown = busy();
  shown.alerts.push(quiet());
  const progress = {
    done: 4810,
    total: 6000,
    left_ms: 14 * 60_000,
    note: null,
    loss: 3.12,
    phase: 'decay',
    time: at(0),
  };
  return {
    ...shown,
    leases: shown.leases.map((one) =>
      one.id === kTraining ? { ...one, job: true, progress } : one,
    ),
  };
}

function quiet(): AlertRule {
  return {
    name: 'disk-low',
    state: 'ok',
    since: null,
    when: 'disk.free < 5%',
    severity: 'critical',
    repeat_ms: 0,
    channels: ['desktop', 'webhook'],
    undelivered: 0,
    last_delivery: null,
    standing: [],
  };
}

export function answersOf(daemon: FakeDaemon): void {
  daemon.answers.set('/v1/history', (query: URLSearchParams) => past(query.get('lease')));
  daemon.answers.set(`/v1/leases/${kTraining}/progress`, { items: course() });
  daemon.answers.set(`/v1/leases/${kTraining}/log`, {
    job: String(kTraining),
    attempt: 2,
    attempts: 2,
    over: true,
    trouble: null,
    text: printed(),
    whole: false,
  });
  daemon.answers.set('/v1/doctor', { time: at(0), items: findings() });
}

/** Of the hour before now, with some minutes of which nothing is known. `lease`: of that one. */
function past(lease: string | null): Past {
  const items: PastPoint[] = [];
  for (let i = 0; i < kMinutes; ++i) {
    if (i >= 18 && i < 21) continue;
    const plateau = Math.floor(i / 7) % 3;
    const add = (index: number, fields: Partial<PastPoint>) =>
      items.push(point(i - kMinutes, { uuid: `GPU-${index}`, index, ...fields }));
    const used = (index: number, lease: number, gib: number) =>
      add(index, { of: 'lease', lease, figure: 'used', vram_max_bytes: gib * kGiB });
    used(0, 12, 8.6 + plateau * 0.6);
    if (i >= 48) used(0, 13, 2.1);
    used(1, 15, 30.6);
    if (i < 37) used(1, 11, 12 + plateau * 0.4);
    if (i >= 40) for (const lease of [41, 42]) used(1, lease, 6 + plateau * 0.5);
    if (i >= 38) used(1, 19, 8 + plateau);
    for (const index of [0, 1]) {
      const granted = index === 0 ? (i < 48 ? 11 : 14) : i < 37 ? 46 : 60;
      add(index, { figure: 'granted', vram_max_bytes: granted * kGiB });
      add(index, { figure: 'unmanaged', vram_max_bytes: (index + 1) * 0.4 * kGiB });
      add(index, { figure: 'utilization', percent_mean: 60 + plateau * 15 });
    }
  }
  return {
    schema: 'berth/history/v1',
    time: at(0),
    since: at(-kMinutes),
    until: at(0),
    step_ms: 60_000,
    cut: false,
    items: items.filter((one) => lease === null || one.lease === Number(lease)),
  };
}

function point(minutes: number, fields: Partial<PastPoint>): PastPoint {
  return {
    time: at(minutes),
    of: 'device',
    uuid: '',
    index: 0,
    lease: null,
    pid: null,
    name: null,
    user: null,
    user_id: null,
    figure: 'used',
    known_ms: 60_000,
    vram_min_bytes: null,
    vram_mean_bytes: null,
    vram_max_bytes: null,
    percent_min: null,
    percent_mean: null,
    percent_max: null,
    ...fields,
  };
}

function course(): Partial<ProgressPoint>[] {
  return Array.from({ length: 61 }, (_, i) => ({
    time: at(i - 60),
    done: i * 80,
    loss: Number((2.71 + 6.5 / (1 + i / 4) + (i % 5) / 12).toFixed(2)),
    phase: i < 8 ? 'warmup' : i < 45 ? 'full' : 'decay',
  }));
}

function printed(): string {
  const lines = Array.from({ length: 40 }, (_, i) => {
    const step = 4810 - (39 - i) * 10;
    return `step ${step} of 6000  loss ${(3.12 + (39 - i) / 100).toFixed(2)}  31.4 ms`;
  });
  return [...lines, ''].join('\n');
}

function findings(): DoctorFinding[] {
  const fine = { consequence: null, cure: null };
  return [
    { group: 'driver', check: 'probe', level: 'ok', fact: 'NVML 550.54 answers', ...fine },
    {
      group: 'driver',
      check: 'persistence',
      level: 'warn',
      fact: 'persistence mode is off on GPU 0',
      consequence: 'the first program after a pause waits for the driver, for about 2 s',
      cure: 'sudo nvidia-smi -i 0 -pm 1',
    },
    {
      group: 'daemon',
      check: 'disk_space',
      level: 'fail',
      fact: 'the disk of /home/ana/.local/state/berth is full',
      consequence: 'no new grants: each is written to disk first',
      cure: 'berth clean --ok',
    },
    { group: 'daemon', check: 'cgroups', level: 'skip', fact: 'no systemd here', ...fine },
  ];
}
