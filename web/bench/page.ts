// SPDX-License-Identifier: Apache-2.0
// bench/page.sh: how soon the page is there, beside an empty page in the same browser, what
// it transfers, and how long a full one takes to draw: 200 leases, 30 days of history.
import { gzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContextOptions } from 'playwright-core';
import { FakeDaemon } from '../tests/browser/daemon.ts';
import { device, kGiB, kNow, lease, part, state } from '../tests/made.ts';
import { kRanges } from '../src/series.ts';

const kRuns = 9;
const kLeases = 200;
const kDevices = 8;

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

function full() {
  const leases = Array.from({ length: kLeases }, (_, i) =>
    lease(i + 1, { devices: [part(i % kDevices, 3, 2)] }),
  );
  const devices = Array.from({ length: kDevices }, (_, index) =>
    device(index, {
      vram_total_bytes: 80 * kGiB,
      leases: leases.filter((_, i) => i % kDevices === index).map((one) => one.id),
    }),
  );
  return state({ devices, leases });
}

// Each lease of the first device has a point in each step of 30 days.
function history(of: 'device' | 'lease') {
  const range = kRanges[kRanges.length - 1]!;
  const steps = range.span / range.step;
  const items = [];
  for (let i = 0; i < (of === 'lease' ? kLeases / kDevices : 1); ++i) {
    for (let k = 0; k < steps; ++k) {
      items.push({
        time: new Date(kNow - range.span + k * range.step).toISOString(),
        of,
        uuid: 'GPU-0',
        index: 0,
        lease: of === 'lease' ? i * kDevices + 1 : null,
        name: `job-${i}`,
        figure: of === 'lease' ? 'used' : 'granted',
        known_ms: range.step,
        vram_max_bytes: 2 * kGiB,
        percent_mean: null,
      });
    }
  }
  return { items, step_ms: range.step };
}

async function newContext(browser: Browser, url: string) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    storageState: daemon.sessionAt(url) as NonNullable<BrowserContextOptions['storageState']>,
  });
  await context.addInitScript(watch);
  return context;
}

/** What runs in the page before its own script: when an area was filled, and the end of the first
 *  frame that shows what is waited for. */
function watch(): void {
  const fill = CanvasRenderingContext2D.prototype.fill;
  const filled: number[] = [];
  CanvasRenderingContext2D.prototype.fill = function (
    this: CanvasRenderingContext2D,
    ...given: unknown[]
  ) {
    filled.push(performance.now());
    return (fill as (...given: unknown[]) => void).apply(this, given);
  } as typeof fill;
  const painted = (isThere: () => boolean): Promise<number> =>
    new Promise((done) => {
      const look = () => {
        if (!isThere()) {
          requestAnimationFrame(look);
          return;
        }
        // A message that is sent in a frame comes when that has been painted.
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done(performance.now());
        channel.port2.postMessage(0);
      };
      requestAnimationFrame(look);
    });
  Object.assign(globalThis, { seen: { filled, painted } });
}
type Watched = { seen: { filled: number[]; painted(isThere: () => boolean): Promise<number> } };

/** When `ready` was there first and had been painted, in ms since the page was asked for. */
async function painted(browser: Browser, url: string, ready: string): Promise<number> {
  const context = await newContext(browser, url);
  const page = await context.newPage();
  await page.goto(url, { waitUntil: 'commit' });
  const time = await page.evaluate(
    (selector) =>
      (globalThis as unknown as Watched).seen.painted(() => !!document.querySelector(selector)),
    ready,
  );
  await context.close();
  return time;
}

/** From the press of the button until the areas of all leases had been painted. */
async function drawn(browser: Browser, url: string): Promise<{ all: number; script: number }> {
  const context = await newContext(browser, url);
  const page = await context.newPage();
  await page.goto(url);
  await page.locator(`tr[data-lease="${kLeases}"]`).waitFor();
  await page.waitForTimeout(500);
  const times = await page.evaluate(async (areas) => {
    const { seen } = globalThis as unknown as Watched;
    const answers = () =>
      performance.getEntriesByType('resource').filter((one) => one.name.includes('/v1/history?'));
    const before = answers().length;
    const from = performance.now();
    [...document.querySelectorAll('button')].find((one) => one.textContent === '30 d')?.click();
    let fetched = Infinity;
    const to = await seen.painted(() => {
      const ends = answers().map((one) => (one as PerformanceResourceTiming).responseEnd);
      if (ends.length >= before + 2) fetched = Math.max(...ends);
      return seen.filled.filter((time) => time > fetched).length >= areas;
    });
    return { all: to - from, script: to - fetched };
  }, kLeases / kDevices);
  await context.close();
  return times;
}

const daemon = new FakeDaemon();
daemon.state = full();
const past = { device: history('device'), lease: history('lease') };
let asked = 0;
daemon.answers.set('/v1/history', () => (asked++ % 2 === 0 ? past.device : past.lease));
const url = await daemon.start();
const blank = createServer((_, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end('<!doctype html><title>empty</title><h1>empty</h1>');
});
await new Promise<void>((ready) => blank.listen(0, '127.0.0.1', ready));
const blankUrl = `http://127.0.0.1:${(blank.address() as AddressInfo).port}/`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const ours: number[] = [];
const empty: number[] = [];
const draws: { all: number; script: number }[] = [];
for (let i = 0; i < kRuns; ++i) {
  empty.push(await painted(browser, blankUrl, 'h1'));
  ours.push(await painted(browser, url, '.device .bar'));
  draws.push(await drawn(browser, url));
}
await browser.close();
await daemon.stop();
blank.close();

const folder = new URL('../../build/web/page/', import.meta.url);
const bytes = ['index.html', 'app.js', 'app.css'].map(
  (name) => gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length,
);
const row = (fields: object) => console.log(JSON.stringify(fields));
row({ name: 'page, an empty one in Chromium (median of 9)', value: median(empty), unit: 'ms' });
row({
  name: 'page, first meaningful paint, 200 leases (median of 9)',
  value: median(ours),
  unit: 'ms',
  against: 'page, an empty one in Chromium (median of 9)',
  limit: 300,
});
row({
  name: 'page, transferred by gzip',
  value: bytes.reduce((a, b) => a + b, 0) / 1024,
  unit: 'KiB',
  limit: 150,
});
row({
  name: 'page, 30 days drawn, from the press of the button',
  value: median(draws.map((d) => d.all)),
  unit: 'ms',
});
row({
  name: 'page, 30 days drawn, after the answers came',
  value: median(draws.map((d) => d.script)),
  unit: 'ms',
  limit: 100,
});
