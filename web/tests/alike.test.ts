// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOf } from './looks/alike.ts';
import { pictureOf, pngOf, type Picture } from './looks/png.ts';

type Box = { x: number; y: number; width: number; height: number; colour: number };

function drawn(...boxes: Box[]): Picture {
  const [width, height] = [160, 96];
  const pixels = new Uint8Array(width * height * 3).fill(245);
  for (const { x, y, width: across, height: down, colour } of boxes) {
    for (let i = 0; i < across * down; ++i) {
      const at = (y + Math.floor(i / across)) * width + x + (i % across);
      pixels.set([colour >> 16, (colour >> 8) & 255, colour & 255], at * 3);
    }
  }
  return { width, height, pixels };
}

const kCard: Box = { x: 20, y: 20, width: 80, height: 40, colour: 0xffffff };
const kBar: Box = { x: 30, y: 30, width: 40, height: 8, colour: 0x005a9c };
const kLine: Box = { x: 22, y: 24, width: 76, height: 1, colour: 0xe1e5e7 };
/** A stem of a letter, and its edges as two machines smooth them. */
const stems = (left: number, right: number): Box[] =>
  Array.from({ length: 8 }, (_, i) => i * 8 + 30).flatMap((x) => [
    { x, y: 44, width: 1, height: 9, colour: left * 0x010101 },
    { x: x + 1, y: 44, width: 1, height: 9, colour: 0x202020 },
    { x: x + 2, y: 44, width: 1, height: 9, colour: right * 0x010101 },
  ]);

const saidOf = (one: Picture, other: Picture) => differenceOf(one, other)?.text ?? 'alike';

test('a picture is alike to itself', () => {
  assert.equal(saidOf(drawn(kCard, kBar), drawn(kCard, kBar)), 'alike');
});

test('smoothed edges may differ', () => {
  const one = drawn(kCard, ...stems(200, 130));
  const other = drawn(kCard, ...stems(165, 165));
  assert.equal(saidOf(one, other), 'alike');
});

test('what moved, vanished or has another colour differs', () => {
  const shown = drawn(kCard, kBar, ...stems(210, 120), kLine);
  const others: Record<string, Picture> = {
    'the card is lower': drawn({ ...kCard, y: 26 }, kBar, ...stems(210, 120), kLine),
    'the bar has moved': drawn(kCard, { ...kBar, x: 36 }, ...stems(210, 120), kLine),
    'the letters are gone': drawn(kCard, kBar, kLine),
    'the card is a little darker': drawn(
      { ...kCard, colour: 0xf5f5f5 },
      kBar,
      ...stems(210, 120),
      kLine,
    ),
    'a line is gone': drawn(kCard, kBar, ...stems(210, 120), { ...kLine, colour: 0xffffff }),
    'the bar has another hue': drawn(
      kCard,
      { ...kBar, colour: 0x009068 },
      ...stems(210, 120),
      kLine,
    ),
  };
  for (const [what, other] of Object.entries(others)) {
    assert.match(differenceOf(shown, other)?.text ?? `not found: ${what}`, /^\d+ pixels differ/);
  }
});

test('another size is said', () => {
  const shown = drawn(kCard);
  const cut = { ...shown, height: 90, pixels: shown.pixels.subarray(0, 160 * 90 * 3) };
  assert.match(differenceOf(shown, cut)?.text ?? '', /^it is 160x90, not 160x96/);
});

test('the difference is red on what was expected', () => {
  const found = differenceOf(drawn(kCard, kBar), drawn(kCard));
  const at = (31 * 160 + 32) * 3;
  assert.deepEqual([...found!.picture.pixels.subarray(at, at + 3)], [220, 0, 0]);
  assert.deepEqual([...found!.picture.pixels.subarray(0, 3)], [252, 252, 252]);
});

test('a PNG holds the picture again', () => {
  const shown = drawn(kCard, kBar, ...stems(210, 120));
  assert.deepEqual(pictureOf(pngOf(shown)), shown);
});

test('of too many colours those that are rare are replaced by ones near them', () => {
  const many = drawn(kCard);
  for (let i = 0; i < 400; ++i) many.pixels.set([i % 256, 40 + Math.floor(i / 256), 90], i * 3);
  const kept = pictureOf(pngOf(many));
  const far = kept.pixels.map((value, i) => Math.abs(value - many.pixels[i]!));
  assert.ok(Math.max(...far) > 0 && Math.max(...far) <= 8);
  assert.deepEqual(kept.pixels.subarray(-9), many.pixels.subarray(-9));
});

test('what is no PNG, or one that is not read, is said', () => {
  assert.throws(() => pictureOf(Buffer.from('GIF89a, and more')), /no PNG/);
  const grey = pngOf(drawn());
  grey[25] = 0;
  assert.throws(() => pictureOf(grey), /colour type 0/);
});
