// SPDX-License-Identifier: Apache-2.0
// A browser with the page of a daemon that is there already, for tests/chaos/look.py: does what a
// line on its standard input says, and answers with a line. What it clicks changes no lease.
import { createInterface } from 'node:readline';
import { chromium, type CDPSession, type Page } from 'playwright-core';

/** A row that is to be clicked may end before. */
const kWithinMs = 2000;
const kTextMax = 300;

type Said = { kind: 'exception' | 'console' | 'crash'; at: number; text: string };
type Open = { page: Page; session: CDPSession };

const said: Said[] = [];

async function open(url: string, code: string): Promise<Open> {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(kWithinMs);
  const say = (kind: Said['kind'], text: string) =>
    said.push({ kind, at: Date.now() / 1000, text: text.slice(0, kTextMax) });
  page.on('pageerror', (error) => say('exception', error.stack ?? error.message));
  page.on('crash', () => say('crash', 'the page crashed'));
  page.on('console', (message) => {
    if (message.type() === 'error') say('console', `${message.text()} ${message.location().url}`);
  });
  await page.goto(url, { timeout: 20_000 });
  await page.getByRole('textbox', { name: 'Code' }).fill(code);
  await page.keyboard.press('Enter');
  await page.locator('.device .bar').waitFor({ timeout: 20_000 });
  // The page that asks for the code is an answer with 401, and the browser says so.
  said.length = 0;
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  return { page, session };
}

/** What stands on the page, as texts: null where the page has no such place now. */
function figures(page: Page): Promise<unknown> {
  return page.evaluate(() => {
    const text = (selector: string) => document.querySelector(selector)?.textContent ?? null;
    const device = [...document.querySelectorAll('.device .figures > div')].map((one) => [
      one.querySelector('dt')?.textContent ?? '',
      one.querySelector('dd')?.textContent ?? '',
    ]);
    return {
      title: document.title,
      headline: text('.hero h1'),
      summary: text('.hero p'),
      device: Object.fromEntries(device),
      leases: text('.leases .head span'),
      rows: document.querySelectorAll('.leases tr.row').length,
      queue: text('.queue .head span'),
    };
  });
}

/** How it is connected: live, lost, connecting, expired or stopped. */
function connection(page: Page): Promise<string> {
  return page.evaluate(() => {
    const head = document.querySelector('.connection');
    return head ? head.className.replace('connection', '').trim() : 'nothing is drawn';
  });
}

/** The overview with all that it shows, and nothing over it; its charts of 5 minutes, so that the
 *  leases in them are soon no more in number. */
async function home({ page }: Open): Promise<void> {
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.evaluate(() => {
    location.hash = '#overview';
    window.scrollTo(0, 0);
  });
  await page.locator('.hero .segments').waitFor();
  const stop = page.locator('.hero > button');
  if ((await stop.getAttribute('aria-pressed')) === 'true') await stop.click();
  const all = page.locator('.leases').getByRole('button', { name: 'All', exact: true });
  if (await all.count()) await all.click();
  const search = page.locator('.leases .search');
  if (await search.count()) await search.fill('');
  await page.locator('.hero .segments button').first().click();
}

// A click that does not come to its end closes what it opened by `home`.
const kActs: Record<string, (page: Page) => Promise<unknown>> = {
  async details(page) {
    await page.locator('.leases tr.row a').first().click();
    await page.locator('.drawer h2').waitFor();
    await page.waitForTimeout(1500);
  },
  async waiting(page) {
    await page.locator('.queue [data-lease] a').first().click();
    await page.locator('.drawer h2').waitFor();
    await page.waitForTimeout(1500);
  },
  async history(page) {
    await page.locator('nav a[href="#history"]').click();
    await page.locator('#trail').waitFor();
    const ranges = page.locator('.hero .segments button');
    for (let i = 0; i < (await ranges.count()); ++i) await ranges.nth(i).click();
  },
  async alerts(page) {
    await page.locator('nav a[href="#alerts"]').click();
    await page.locator('#doctor').waitFor();
  },
  async doctor(page) {
    await page.locator('nav a[href="#alerts"]').click();
    await page.locator('section[aria-labelledby="doctor"] button').first().click();
    await page.waitForTimeout(1500);
  },
  async timeline(page) {
    await page.locator('[aria-labelledby="timeline"]').scrollIntoViewIfNeeded();
    await page.locator('[aria-labelledby="timeline"]').hover({ position: { x: 300, y: 80 } });
  },
  async ranges(page) {
    const ranges = page.locator('.hero .segments button');
    for (let i = 0; i < (await ranges.count()); ++i) {
      await ranges.nth(i).click();
      await page.waitForTimeout(300);
    }
  },
  async chart(page) {
    await page.locator('.device .plot').first().focus();
    for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowRight', 't']) await page.keyboard.press(key);
    await page.waitForTimeout(500);
    await page.keyboard.press('t');
  },
  async sort(page) {
    for (const name of ['Session', 'Age', 'ID']) {
      await page.locator('.leases thead').getByRole('button', { name, exact: true }).click();
    }
  },
  async ended(page) {
    await page.locator('.leases').getByRole('button', { name: 'Ended' }).click();
    await page.waitForTimeout(1000);
  },
  async find(page) {
    await page.locator('.leases .search').fill('chaos-1');
    await page.waitForTimeout(700);
  },
  async help(page) {
    await page.keyboard.press('?');
    await page.waitForTimeout(500);
  },
  async stop(page) {
    await page.locator('.hero > button').click();
    await page.waitForTimeout(1500);
  },
  async theme(page) {
    await page.locator('header .icon-button').click();
  },
};

/** Does it and goes home; null, or why it could not be done. */
async function act(opened: Open, name: string): Promise<string | null> {
  const errors: string[] = [];
  const say = (error: unknown) => errors.push(String(error).slice(0, kTextMax));
  await home(opened).catch(say);
  await kActs[name]?.(opened.page).catch(say);
  await home(opened).catch(say);
  return errors[0] ?? null;
}

async function measures({ page, session }: Open): Promise<Record<string, number>> {
  for (let i = 0; i < 2; ++i) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const value = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  return {
    heap: value('JSHeapUsedSize'),
    nodes: value('Nodes'),
    leases: await page.locator('.leases tr.row').count(),
    listeners: value('JSEventListeners'),
  };
}

let opened = null as Open | null;

async function answer(words: string[]): Promise<unknown> {
  const [verb, ...more] = words;
  if (verb === 'open') {
    opened = await open(more[0] ?? '', more[1] ?? '');
    return Object.keys(kActs);
  }
  if (!opened) throw new Error('nothing is open');
  switch (verb) {
    case 'connection':
      return { connection: await connection(opened.page), said: said.splice(0) };
    case 'figures':
      return figures(opened.page);
    case 'home':
      return home(opened);
    case 'act':
      return act(opened, more[0] ?? '');
    case 'measures':
      return measures(opened);
    default:
      throw new Error(`what is ${verb}?`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = await answer(JSON.parse(line) as string[]).then(
    (value) => ({ value: value ?? null }),
    (error: unknown) => ({ error: String(error).slice(0, kTextMax) }),
  );
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await opened?.page.context().browser()?.close();
