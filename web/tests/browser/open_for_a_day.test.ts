// SPDX-License-Identifier: Apache-2.0
// A page that is left open does not grow.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kGiB } from '../made.ts';
import { busy, visit, withBrowser } from './world.ts';

withBrowser();

const kUpdates = 10_000;

test(`the heap after ${kUpdates} updates is that of before`, () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    const session = await page.context().newCDPSession(page);
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    const update = async (count: number) => {
      for (let i = 0; i < count; ++i) {
        const [gpu] = daemon.state.devices;
        const [, held] = daemon.state.leases;
        const used = (9 + (i % 10) / 10) * kGiB;
        daemon.change({
          devices: [{ ...gpu!, vram_used_bytes: used }],
          leases: [{ ...held!, vram_used_bytes: used }],
          events: [{ ...daemon.state.events[0]!, time: new Date(i).toISOString() }],
        });
        if (i % 100 === 99) await shown();
      }
    };
    // The clock of the page's head has the daemon's time: what was sent has been drawn.
    const shown = () =>
      page.waitForFunction(
        (time) => (document.querySelector('.connection span')?.textContent ?? '') >= time,
        new Date(Date.parse(daemon.state.time)).toISOString().slice(11, 19),
        { timeout: 30_000, polling: 50 },
      );
    await update(1000);
    const before = await heap();
    await update(kUpdates);
    const after = await heap();
    console.log(`heap: ${before} bytes before, ${after} after ${kUpdates} updates`);
    assert.ok(after < before * 1.1 + 1_000_000, `${before} bytes became ${after}`);
  }));
