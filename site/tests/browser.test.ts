// SPDX-License-Identifier: Apache-2.0
// The site in Chromium, as readers have it: wide and on a phone, light and dark.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { Server } from './built.ts';

const server = new Server();
let url: string;
let browser: Browser;

before(async () => {
  url = await server.start();
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
});
after(async () => {
  await browser?.close();
  await server.stop();
});

type Look = { width: number; colorScheme: 'light' | 'dark' };

/** A page of the site; what goes wrong on it fails the test. */
async function opened(path: string, look: Look, story: (page: Page) => Promise<void>) {
  const { width, colorScheme } = look;
  const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme });
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on('requestfailed', (one) => wrong.push(`failed: ${one.url()}`));
  page.on('response', (one) => one.status() >= 400 && wrong.push(`${one.status()}: ${one.url()}`));
  page.on('request', (one) => {
    if (!one.url().startsWith(url) && !one.url().startsWith('data:')) wrong.push(one.url());
  });
  page.on('console', (one) => one.type() === 'error' && wrong.push(one.text()));
  page.on('pageerror', (one) => wrong.push(one.message));
  await page.goto(url + path, { waitUntil: 'networkidle' });
  await story(page);
  await context.close();
  assert.deepEqual(wrong, []);
  assert.deepEqual(server.missing, []);
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the search finds a page by keyboard: ${colorScheme}`, async () => {
    await opened('/', { width: 1280, colorScheme }, async (page) => {
      await page.keyboard.press('Control+k');
      await page.locator('#localsearch-input:focus').waitFor();
      await page.keyboard.insertText('suspend');
      await page.locator('.result.selected', { hasText: 'Suspend and resume' }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL('**/docs/suspend.html*');
      await page.getByRole('heading', { level: 1, name: 'Suspend and resume' }).waitFor();
    });
  });

  test(`a phone does not scroll sideways: ${colorScheme}`, async () => {
    for (const path of ['/', '/docs/start.html', '/docs/cli.html', '/ARCHITECTURE.html']) {
      await opened(path, { width: 390, colorScheme }, async (page) => {
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.equal(wide, 390, path);
      });
    }
  });

  test(`text stands out from its ground: ${colorScheme}`, async () => {
    await opened('/docs/start.html', { width: 1280, colorScheme }, async (page) => {
      const colours = await page.evaluate(() => {
        const { color, backgroundColor } = getComputedStyle(document.body);
        return [color, backgroundColor].map((one) => Number(/\d+/.exec(one)?.[0]));
      });
      const [text, ground] = colours as [number, number];
      assert.ok(colorScheme === 'dark' ? text - ground > 150 : ground - text > 150, `${colours}`);
    });
  });
}

test('the pictures are there', async () => {
  for (const path of ['/', '/docs/dashboard.html', '/ARCHITECTURE.html']) {
    await opened(path, { width: 1280, colorScheme: 'light' }, async (page) => {
      const widths = await page
        .locator('.vp-doc img')
        .evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth));
      assert.ok(widths.length > 0 && widths.every((width) => width > 100), `${path}: ${widths}`);
    });
  }
});

test('from the first page a reader comes to the ten tasks', async () => {
  await opened('/', { width: 1280, colorScheme: 'light' }, async (page) => {
    await page.locator('.vp-doc').getByRole('link', { name: 'ten tasks' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ten tasks' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Berth' }).waitFor();
  });
});
