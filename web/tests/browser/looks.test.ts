// SPDX-License-Identifier: Apache-2.0
// The page in states that stand still, beside pictures of them (web/tests/looks), which
// `web/check --update` makes anew. Where one differs, build/web/looks has it, what was expected and
// the difference.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { kNow } from '../made.ts';
import { differenceOf, type Difference } from '../looks/alike.ts';
import { pictureOf, pngOf } from '../looks/png.ts';
import { answersOf, kLooks, machine, type Look } from '../looks/states.ts';
import { visit, withBrowser } from './world.ts';

const kKept = fileURLToPath(new URL('../looks/', import.meta.url));
const kFound = fileURLToPath(new URL('../../../build/web/looks/', import.meta.url));
const kNoLetters = 'DejaVu Sans is not here (fonts-dejavu-core)';
const kUpdate = process.env.BERTH_UPDATE === '1';

// Letters are as wide as where the pictures were made.
const kStyle = `
@font-face { font-family: Same; src: local('DejaVu Sans'); font-weight: 100 549; }
@font-face { font-family: Same; src: local('DejaVu Sans Bold'); font-weight: 550 900; }
:root { --font: Same; --mono: 'DejaVu Sans Mono'; }
* { caret-color: transparent !important; animation: none !important; transition: none !important; }
`;

withBrowser({ FONTCONFIG_FILE: `${kKept}fonts.conf` });

/** The page in that state, as PNG; null where its letters are not here. `style`: what else the page's
 *  style sheet says. */
async function taken(look: Look, style = ''): Promise<Buffer | null> {
  let png: Buffer | null = null;
  await visit(
    machine(),
    look.options ?? {},
    async ({ page, daemon }) => {
      if (!(await page.evaluate(hasLetters))) return;
      await page.locator('.queue .reason').first().waitFor();
      await look.go?.(page, daemon);
      await settle(page);
      png = await photograph(page, look.part);
    },
    async ({ page, daemon }) => {
      answersOf(daemon);
      daemon.style = kStyle + style;
      await page.clock.setFixedTime(kNow);
      // How long until the connection is tried again has chance in it; here it is long.
      await page.addInitScript(() => (Math.random = () => 30));
    },
  );
  return png;
}

function hasLetters(): Promise<boolean> {
  const bold = new FontFace('Bold', "local('DejaVu Sans Bold')");
  return bold.load().then(
    () => true,
    () => false,
  );
}

/** All that was asked for has come and is drawn. */
async function settle(page: Page): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(async () => {
    await document.fonts.ready;
    (document.activeElement as HTMLElement | null)?.blur();
    for (let i = 0; i < 3; ++i) await new Promise((drawn) => requestAnimationFrame(drawn));
  });
}

async function photograph(page: Page, part: string | undefined): Promise<Buffer> {
  if (part === undefined) return page.screenshot({ fullPage: true });
  return part === 'window' ? page.screenshot() : page.locator(part).screenshot();
}

function keptOf(look: Look): Buffer {
  return readFileSync(`${kKept}${look.name}.png`);
}

function foundIn(look: Look, png: Buffer): Difference | null {
  return differenceOf(pictureOf(keptOf(look)), pictureOf(png));
}

for (const look of kLooks) {
  test(`${look.name} looks as in its picture`, async (context) => {
    const png = await taken(look);
    if (!png) return context.skip(kNoLetters);
    if (kUpdate) {
      writeFileSync(`${kKept}${look.name}.png`, pngOf(pictureOf(png)));
      return;
    }
    const files = ['is', 'expected', 'difference'].map(
      (what) => `${kFound}${look.name}-${what}.png`,
    );
    for (const file of files) rmSync(file, { force: true });
    const difference = foundIn(look, png);
    if (!difference) return;
    mkdirSync(kFound, { recursive: true });
    const pictures = [png, keptOf(look), pngOf(difference.picture)];
    files.forEach((file, i) => writeFileSync(file, pictures[i] as Buffer));
    assert.fail(
      `${look.name}: ${difference.text}: see build/web/looks/${look.name}-*.png; ` +
        'where it is meant to be so, web/check --update makes the picture anew',
    );
  });
}

// What somebody may do to a style sheet without a wish to, and in which state it is to be seen.
const kBroken: [string, string, string][] = [
  ['a colour is gone', 'light', '.alerts { background: none; border-color: var(--line); }'],
  ['a card is 6 px lower', 'light', '.queue { position: relative; top: 6px; }'],
  ['a chart is not shown', 'light', '.device .plot { visibility: hidden; }'],
  [
    'two hues are swapped',
    'dark',
    '.hue-0 { --hue: var(--hue-2); } .hue-2 { --hue: var(--hue-0); }',
  ],
  ['letters are larger', 'phone', '.queue .reason { font-size: 14px; }'],
  ['a chart of details is not shown', 'details', '.lease-chart .line { stroke: none; }'],
  ['what would help is gone', 'queue', '.queue .help { display: none; }'],
  ['a level has another colour', 'alerts', '.findings .critical { color: var(--warn); }'],
  ['what is old has its colours', 'disconnected', '.offline main { filter: none; }'],
];

for (const [what, state, style] of kBroken) {
  test(`it is found that ${what}`, { skip: kUpdate }, async (context) => {
    const look = kLooks.find(({ name }) => name === state) as Look;
    const png = await taken(look, style);
    if (!png) return context.skip(kNoLetters);
    assert.ok(foundIn(look, png));
  });
}
