// SPDX-License-Identifier: Apache-2.0
// For everybody: keyboard, screen reader, small and large screens, eyes and patience of all kinds.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { device, state } from '../made.ts';
import { busy, visit, withBrowser } from './world.ts';

withBrowser();

const kAxe = readFileSync(
  new URL('../../node_modules/axe-core/axe.min.js', import.meta.url),
  'utf8',
);

type Finding = { id: string; help: string; nodes: { html: string }[] };

async function findings(page: Page): Promise<string[]> {
  // Not by a script element: the page allows none but its own.
  await page.evaluate(kAxe);
  const found = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } }).axe.run(),
  );
  return found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes[0]?.html}`);
}

test('axe finds nothing on the other pages and in the help', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    daemon.answers.set('/v1/history/events', { items: busy().events });
    await page.getByRole('link', { name: 'History' }).click();
    await page.locator('.events.dated li').first().waitFor();
    assert.deepEqual(await findings(page), [], 'history');
    await page.getByRole('link', { name: 'Alerts' }).click();
    await page.locator('.rules li').waitFor();
    assert.deepEqual(await findings(page), [], 'alerts');
    daemon.answers.set('/v1/doctor', {
      time: daemon.state.time,
      items: ['ok', 'warn', 'fail', 'skip'].map((level) => ({
        group: 'driver',
        check: level,
        level,
        fact: 'NVML answers',
        consequence: 'so',
        cure: 'berth doctor',
      })),
    });
    await page.getByRole('button', { name: 'Look now' }).click();
    await page.locator('.findings li').first().waitFor();
    assert.deepEqual(await findings(page), [], 'doctor');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    assert.deepEqual(await findings(page), [], 'help');
    daemon.expired = true;
    await page.reload();
    await page.getByRole('textbox', { name: 'Code' }).waitFor();
    assert.deepEqual(await findings(page), [], 'without a session');
  }));

function troubled() {
  const shown = busy();
  const [first, second] = shown.devices;
  return {
    ...shown,
    devices: [first!, { ...second!, lost: true, vram_used_bytes: null, trouble: 'it fell off' }],
  };
}

for (const theme of ['light', 'dark'] as const) {
  test(`axe finds nothing: ${theme}`, () =>
    visit(busy(), { colorScheme: theme }, async ({ page, daemon }) => {
      await page.locator('.queue .reason').first().waitFor();
      assert.deepEqual(await findings(page), []);
      await page.getByRole('button', { name: 'Pause 12' }).click();
      assert.deepEqual(await findings(page), [], 'with a question');
      await page.keyboard.press('Escape');
      daemon.down = true;
      daemon.drop();
      await page.getByRole('alert').waitFor();
      assert.deepEqual(await findings(page), [], 'without a connection');
    }));

  test(`axe finds nothing with nobody there, and with a device gone: ${theme}`, async () => {
    await visit(state(), { colorScheme: theme }, async ({ page }) => {
      assert.deepEqual(await findings(page), []);
    });
    await visit(troubled(), { colorScheme: theme }, async ({ page }) => {
      await page.getByText('Nothing more is granted here until').waitFor();
      assert.deepEqual(await findings(page), []);
    });
  });
}

test('everything by the keyboard: rows, details, a question, and back to the row', () =>
  visit(busy(), {}, async ({ page, daemon }) => {
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const at = () =>
      page.evaluate(() => document.activeElement?.closest<HTMLElement>('tr')?.dataset.lease);
    assert.equal(await at(), '13');
    await page.keyboard.press('k');
    assert.equal(await at(), '12');
    await page.keyboard.press('p');
    await page.locator('.ask .main:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.toast').getByText('12 is suspended.').waitFor();
    assert.equal(daemon.sent[0]?.path, '/v1/leases/12/suspend');
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('.drawer').count(), 0);
    assert.equal(await at(), '12');
  }));

test('focus stays in the details while they are open', () =>
  visit(busy(), {}, async ({ page }) => {
    await page.locator('tr[data-lease="12"] a').click();
    for (let i = 0; i < 12; ++i) {
      await page.keyboard.press('Tab');
      const inside = await page.evaluate(() => document.activeElement?.closest('.drawer') !== null);
      assert.equal(inside, true);
    }
  }));

test('the order of Tab is the order of reading', () =>
  visit(busy(), {}, async ({ page }) => {
    const seen: string[] = [];
    for (let i = 0; i < 60; ++i) {
      await page.keyboard.press('Tab');
      const where = await page.evaluate(() => {
        const at = document.activeElement;
        return ['skip', 'top', 'hero', 'device', 'leases', 'queue', 'timeline', 'side'].find(
          (name) => at?.closest(`.${name}`),
        );
      });
      if (where && seen[seen.length - 1] !== where) seen.push(where);
    }
    assert.deepEqual(seen.slice(0, 6), ['skip', 'top', 'hero', 'device', 'leases', 'queue']);
  }));

test('a chart is read by keys, and as a table', () =>
  visit(busy(), {}, async ({ page }) => {
    const chart = page.locator('.plot').first();
    await chart.focus();
    assert.match(
      (await chart.getAttribute('aria-label')) ?? '',
      /Memory of GPU 0.*now: used 12\.3/,
    );
    await page.keyboard.press('ArrowLeft');
    const reading = await page.locator('.chart output').first().textContent();
    assert.match(reading ?? '', /^13:|^14:/);
    await page.keyboard.press('t');
    const rows = page.locator('.chart').first().locator('tbody tr');
    assert.ok((await rows.count()) > 10);
    assert.match((await rows.first().textContent()) ?? '', /12\.3/);
  }));

for (const width of [320, 390, 768, 1180, 1440, 2560, 3840]) {
  test(`nothing is scrolled sideways at ${width}`, () =>
    visit(busy(), { viewport: { width, height: 900 } }, async ({ page }) => {
      await page.locator('.queue .reason').first().waitFor();
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(beyond, 0);
      await page.locator('tr[data-lease="12"] a').click();
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(wide, 0);
    }));
}

test('what is pressed by a finger is large enough', () =>
  visit(busy(), { viewport: { width: 390, height: 844 }, hasTouch: true }, async ({ page }) => {
    await page.locator('.queue .reason').first().waitFor();
    const small = await page.locator('main button:visible').evaluateAll((all) =>
      all
        .filter((one) => !one.closest('.bar, .segments, thead'))
        .filter((one) => one.getBoundingClientRect().height < 36)
        .map((one) => one.outerHTML),
    );
    assert.deepEqual(small, []);
  }));

test('nothing moves for who wants it still', () =>
  visit(busy(), { reducedMotion: 'reduce' }, async ({ page }) => {
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  }));

test('light and dark are chosen by the system, then by the reader, and remembered', () =>
  visit(busy(), { colorScheme: 'dark' }, async ({ page }) => {
    const shade = () =>
      page.evaluate(() => getComputedStyle(document.body.parentElement!).backgroundColor);
    assert.equal(await shade(), 'rgb(11, 15, 18)');
    await page.getByRole('button', { name: 'Light or dark' }).click();
    assert.equal(await shade(), 'rgb(245, 246, 246)');
    await page.reload();
    await page.locator('h1').waitFor();
    assert.equal(await shade(), 'rgb(245, 246, 246)');
  }));

test('eight devices have small cards and one chart, of the one that is chosen', () => {
  const devices = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => device(index));
  return visit(state({ devices }), {}, async ({ page }) => {
    assert.equal(await page.locator('.plot').count(), 1);
    await page.locator('.segments').getByRole('button', { name: 'GPU 5' }).click();
    assert.match((await page.locator('.plot').getAttribute('aria-label')) ?? '', /GPU 5/);
  });
});
