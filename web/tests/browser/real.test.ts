// SPDX-License-Identifier: Apache-2.0
// The page and the real daemon: what a person does, and what pages of others try.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { eventually, RealDaemon } from './real_daemon.ts';

const kRebound = 'rebound.example';

let browser: Browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // A name of another that leads here, as after DNS rebinding.
    args: ['--no-sandbox', `--host-resolver-rules=MAP ${kRebound} 127.0.0.1`],
  });
});
after(async () => browser.close());

type Visit = { page: Page; daemon: RealDaemon; url: string; errors: string[] };

/** A person who opened the page by the code that `berth dashboard` said. */
async function visit(options: string[], use: (visit: Visit) => Promise<void>): Promise<void> {
  const daemon = new RealDaemon();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    await daemon.berth('status');
    const { url, code } = await daemon.dashboard(...options);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(url);
    await page.getByRole('textbox', { name: 'Code' }).fill(code);
    await page.keyboard.press('Enter');
    await page.locator('.device .bar').waitFor();
    await use({ page, daemon, url, errors });
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    await daemon.stop();
  }
}

/** A server of another on this machine, whose page tries `script`. */
async function withOther(html: string, use: (address: string) => Promise<void>): Promise<void> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(html);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function stateOf(daemon: RealDaemon, name: string): Promise<string | undefined> {
  return (await daemon.status()).leases.find((one) => one.name === name)?.state;
}

test('granted, waiting, why, another paused and resumed', () =>
  visit([], async ({ page, daemon }) => {
    daemon.hold('first', 10);
    await page.locator('.leases tr', { hasText: 'first' }).waitFor();
    await eventually(async () => (await stateOf(daemon, 'first')) === 'held', 'first is held');
    daemon.hold('second', 8);
    const queue = page.locator('.queue');
    await queue.getByText('second').waitFor();
    await queue.getByRole('button', { name: /^Pause 1…/ }).click();
    const ask = page.locator('.ask');
    assert.match((await ask.textContent()) ?? '', /berth pause 1/);
    assert.equal(await stateOf(daemon, 'first'), 'held');
    await ask.getByRole('button', { name: 'Pause 1' }).click();
    await page.locator('.toast').getByText('1 is suspended.').waitFor();
    await eventually(async () => (await stateOf(daemon, 'second')) === 'held', 'second is held');
    assert.equal(await stateOf(daemon, 'first'), 'suspended');
    await page.locator('.leases tr', { hasText: 'suspended' }).waitFor();
    await daemon.berth('cancel', 'second');
    await page.locator('.toast').getByRole('button', { name: 'Resume 1' }).click();
    await eventually(async () => (await stateOf(daemon, 'first')) === 'held', 'first is resumed');
  }));

test('the daemon is killed, the page says so and goes on with the same session', () =>
  visit([], async ({ page, daemon, url }) => {
    daemon.hold('kept', 4);
    await page.locator('.leases tr', { hasText: 'kept' }).waitFor();
    // The port of before, which whoever kept a page open needs.
    daemon.configure(`daemon.http = true\ndaemon.http_port = ${new URL(url).port}\n`);
    process.kill(await daemon.pid(), 'SIGKILL');
    const banner = page.getByRole('alert');
    await banner.getByText('No connection to the daemon since').waitFor();
    await daemon.berth('status');
    await page.locator('.page:not(.offline) .leases tr', { hasText: 'kept' }).waitFor();
    assert.equal(await banner.count(), 0);
    daemon.hold('later', 4);
    await page.locator('.leases tr', { hasText: 'later' }).waitFor();
  }));

test('no secret is in the address, the history or what a page could send on', () =>
  visit([], async ({ page, url }) => {
    assert.equal(page.url(), url);
    const [cookie] = await page.context().cookies();
    assert.equal(cookie?.httpOnly, true);
    assert.equal(cookie?.sameSite, 'Strict');
    assert.equal(await page.evaluate(() => document.cookie), '');
    await page.goBack().catch(() => null);
    assert.doesNotMatch(page.url(), /code|key/i);
    const policy = (await page.request.get(url)).headers();
    assert.equal(policy['referrer-policy'], 'no-referrer');
  }));

test('one that may only look does not act', () =>
  visit(['--read-only'], async ({ page, daemon }) => {
    daemon.hold('theirs', 4);
    await page.locator('.leases tr', { hasText: 'theirs' }).waitFor();
    await page.getByText('You may look.').waitFor();
    assert.equal(await page.locator('.row-actions button').count(), 0);
    const answer = await page.evaluate(async () => {
      const key = localStorage.getItem('berth-key') ?? '';
      const headers = { 'Berth-Key': key, 'Content-Type': 'application/json' };
      return (await fetch('/v1/leases/1/suspend', { method: 'POST', headers, body: '{}' })).status;
    });
    assert.equal(answer, 403);
    assert.equal(await stateOf(daemon, 'theirs'), 'held');
  }));

test('a page of another origin learns nothing and does nothing', () =>
  visit([], async ({ page, daemon, url }) => {
    daemon.hold('target', 4);
    await page.locator('.leases tr', { hasText: 'target' }).waitFor();
    const form = `<form method="post" action="${url}v1/leases/1/release"><button>go</button></form>`;
    await withOther(`<!doctype html><h1>other</h1>${form}`, async (address) => {
      const other = await page.context().newPage();
      await other.goto(address);
      const tried = await other.evaluate(async (target) => {
        const outcomes: string[] = [];
        for (const [path, method, mode] of [
          ['v1/status', 'GET', 'cors'],
          ['v1/live', 'GET', 'cors'],
          ['v1/leases/1/release', 'POST', 'cors'],
          ['v1/leases/1/release', 'POST', 'no-cors'],
        ] as const) {
          try {
            const body = method === 'POST' ? '{}' : null;
            const answer = await fetch(target + path, {
              method,
              mode,
              body,
              credentials: 'include',
            });
            outcomes.push(`${answer.type} ${(await answer.text()).length}`);
          } catch {
            outcomes.push('refused');
          }
        }
        return outcomes;
      }, url);
      assert.deepEqual(tried, ['refused', 'refused', 'refused', 'opaque 0']);
      await other.getByRole('button', { name: 'go' }).click();
      await other.waitForLoadState();
      assert.doesNotMatch(await other.content(), /released|"id"/);
      assert.equal(await stateOf(daemon, 'target'), 'held');
    });
  }));

test('a name of another that leads here is refused', () =>
  visit([], async ({ page, url }) => {
    const other = await page.context().newPage();
    const rebound = `http://${kRebound}:${new URL(url).port}/`;
    const answer = await other.goto(rebound);
    assert.equal(answer?.status(), 403);
    const status = await other.evaluate(async () => (await fetch('/v1/status')).status);
    assert.equal(status, 403);
  }));

test('the page is in no frame of another', () =>
  visit([], async ({ page, url }) => {
    await withOther(`<!doctype html><iframe src="${url}"></iframe>`, async (address) => {
      const other = await page.context().newPage();
      const refused = other.waitForEvent('console', (message) =>
        /frame-ancestors/.test(message.text()),
      );
      await other.goto(address);
      await refused;
      const inside = other.frames().find((frame) => frame !== other.mainFrame());
      assert.equal(await inside?.locator('input, .device').count(), 0);
    });
  }));

test('markup that a session brings along is text', () =>
  visit([], async ({ page, daemon, errors }) => {
    const markup = '<img src=x onerror="window.taken=1">';
    daemon.hold('plain', 4, 'env', `X=${markup}`);
    await page.locator('.leases tr', { hasText: 'plain' }).waitFor();
    await daemon.berth('pause', 'plain', '--reason', markup);
    await page.locator('.leases tr', { hasText: 'suspended' }).locator('a').click();
    await page.locator('.drawer').getByText(markup).first().waitFor();
    assert.equal(await page.evaluate(() => 'taken' in window), false);
    assert.equal(await page.locator('.drawer img').count(), 0);
    assert.deepEqual(errors, []);
  }));
