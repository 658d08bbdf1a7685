// SPDX-License-Identifier: Apache-2.0
// node web/tools/pictures.ts FOLDER: pictures of the page, of a real daemon on simulated GPUs.
import { chromium, type Browser, type BrowserContextOptions } from 'playwright-core';
import { eventually, RealDaemon } from '../tests/browser/real_daemon.ts';

const folder = process.argv[2];
if (!folder) throw new Error('usage: pictures.ts FOLDER');

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
  run('hybrid-train', 11, '9500MiB', '85%', '-g', '0,', '--eta', '75m');
  await isIn('hybrid-train', 'held');
  run('notebook', 3, '1500MiB', '0%', '-g', '0,', '--eta', '20m');
  run('vllm-qwen', 32, '30GiB', '40%', '-g', '1,');
  run('eval-llama', 12, '10GiB', '25%', '-g', '1,', '--eta', '40m');
  run('notebook-ft', 14, '12GiB', '0%', '-g', '1,');
  for (const name of ['notebook', 'vllm-qwen', 'eval-llama', 'notebook-ft']) {
    await isIn(name, 'held');
  }
  await new Promise((done) => setTimeout(done, 20_000)); // Of a past for the charts.
  await daemon.berth('pause', 'notebook-ft');
  run('finetune-8b', 48, '40GiB', '80%', '-g', '1,', '--limit', '3h');
  run('sd-xl', 6, '5GiB', '60%', '-g', '0,', '--limit', '30m');
  for (const name of ['finetune-8b', 'sd-xl']) await isIn(name, 'waiting');
  await new Promise((done) => setTimeout(done, 20_000));
}

async function picture(
  browser: Browser,
  name: string,
  options: BrowserContextOptions,
): Promise<void> {
  const { url, code } = await daemon.dashboard();
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole('textbox', { name: 'Code' }).fill(code);
  await page.keyboard.press('Enter');
  await page.locator('.queue .reason').first().waitFor();
  await page.getByRole('button', { name: '5 min' }).click();
  await page.waitForTimeout(2500);
  await page.screenshot({ path: `${folder}/${name}.png` });
  await context.close();
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
} finally {
  await browser.close();
  await daemon.stop();
}
