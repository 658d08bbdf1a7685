// SPDX-License-Identifier: Apache-2.0
// node web/tools/pictures.ts FOLDER: pictures of the page and of berth top, of a real daemon on
// simulated GPUs.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { eventually, RealDaemon } from '../tests/browser/real_daemon.ts';

const folder = process.argv[2];
if (!folder) throw new Error('usage: pictures.ts FOLDER');

const kRoot = fileURLToPath(new URL('../../', import.meta.url));
const daemon = new RealDaemon('1x16GiB:RTX-5080,1x80GiB:H100-PCIe');

function run(name: string, gib: number, use: string, busy: string, ...options: string[]): void {
  const program = ['vram_user', '--bytes', use, '--busy', busy, '--hold', '600s'];
  daemon.start(['run', '-q', '-m', `${gib}G`, '-n', name, ...options, '--', ...program]);
}

async function isIn(name: string, state: string): Promise<void> {
  const sees = async () =>
    [...(await daemon.status()).leases, ...(await daemon.waiting())].some(
      (one) => one.name === name && one.state === state,
    );
  await eventually(sees, `${name} is ${state}`);
}

/** Two GPUs, some leases, one paused, and a queue. */
async function busyMachine(): Promise<void> {
  await daemon.berth('status');
  daemon.environment.PYTHONPATH = `${kRoot}python`;
  const training = ['python3', '-B', `${kRoot}web/tools/training.py`, '9500MiB', '85%'];
  const asked = ['-m', '11G', '-g', '0,', '--eta', '75m'];
  await daemon.submit('hybrid-train', ...asked, '--', ...training);
  await isIn('hybrid-train', 'held');
  run('notebook', 3, '1500MiB', '0%', '-g', '0,', '--eta', '20m');
  run('vllm-qwen', 32, '30GiB', '40%', '-g', '1,');
  run('eval-llama', 12, '10GiB', '25%', '-g', '1,', '--eta', '40m');
  run('notebook-ft', 14, '12GiB', '0%', '-g', '1,');
  for (const name of ['notebook', 'vllm-qwen', 'eval-llama', 'notebook-ft']) {
    await isIn(name, 'held');
  }
  await new Promise((done) => setTimeout(done, 100_000)); // Of a past for the charts.
  await daemon.berth('pause', 'notebook-ft');
  run('finetune-8b', 48, '40GiB', '80%', '-g', '1,', '--limit', '3h');
  run('sd-xl', 6, '5GiB', '60%', '-g', '0,', '--limit', '30m');
  for (const name of ['finetune-8b', 'sd-xl']) await isIn(name, 'waiting');
  await new Promise((done) => setTimeout(done, 20_000));
}

/** `go`: what is done before. */
async function picture(
  browser: Browser,
  name: string,
  options: BrowserContextOptions,
  go: (page: Page) => Promise<void> = async () => {},
): Promise<void> {
  const { url, code } = await daemon.dashboard();
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole('textbox', { name: 'Code' }).fill(code);
  await page.keyboard.press('Enter');
  await page.locator('.queue .reason').first().waitFor();
  await page.getByRole('button', { name: '5 min' }).click();
  await go(page);
  await page.waitForTimeout(2500);
  await page.screenshot({ path: `${folder}/${name}.png` });
  await context.close();
}

async function details(page: Page): Promise<void> {
  await page.locator('.leases a', { hasText: 'hybrid-train' }).click();
  await page.getByRole('img', { name: /^Loss:/ }).waitFor();
  await page.getByRole('button', { name: 'Show what it printed' }).click();
  await page.getByRole('log').waitFor();
  await page.locator('.drawer').evaluate((drawer) => (drawer as HTMLElement).focus());
}

/** Of `berth top`, on a terminal of that size. */
async function terminal(name: string, columns: number, rows: number): Promise<void> {
  const words = [`${folder}/${name}.svg`, `${columns}`, `${rows}`, '4'];
  const title = `berth top on a terminal of ${columns} columns and ${rows} lines`;
  const script = `${kRoot}tools/terminal_picture.py`;
  const environment = { ...daemon.environment, LC_ALL: 'C.UTF-8' };
  await promisify(execFile)('python3', ['-B', script, ...words, title, 'berth', 'top'], {
    env: environment,
  });
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  await busyMachine();
  const wide = { width: 1440, height: 1180 };
  await picture(browser, 'dashboard-light', { viewport: wide, colorScheme: 'light' });
  await picture(browser, 'dashboard-dark', { viewport: wide, colorScheme: 'dark' });
  await picture(browser, 'dashboard-phone', { viewport: { width: 390, height: 844 } });
  const high = { viewport: { width: 1440, height: 1000 } };
  await picture(browser, 'dashboard-details', high, details);
  await terminal('top-120x40', 120, 40);
  await terminal('top-80x24', 80, 24);
} finally {
  await browser.close();
  await daemon.stop();
}
