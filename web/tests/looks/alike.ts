// SPDX-License-Identifier: Apache-2.0
// Whether two pictures show the same. Machines smooth the edges of letters and lines a little
// differently: that is no difference. Where something moved, vanished or has another colour is one.
// Pure.
import type { Picture } from './png.ts';

export type Difference = {
  /** What differs, for a person. */
  text: string;
  /** The expected picture, pale, and in red what differs from it. */
  picture: Picture;
};

/** Of a pixel amid others of its colour, in both pictures or in one: no edge is there. */
const kFlat = 8;
const kHalfFlat = 16;
/** Of a pixel at an edge, from the nearest one beside it in the other picture. */
const kEdge = 40;
/** So many pixels may differ where there is no edge. */
const kClear = 24;
/** At edges so many of a square may, and so many of 1000 of the whole picture. */
const kSquare = 16;
const kOfSquare = 24;
const kOfWhole = 5;

type Kind = 'alike' | 'edge' | 'clear';

/** Null: they are alike. */
export function differenceOf(expected: Picture, actual: Picture): Difference | null {
  const width = Math.max(expected.width, actual.width);
  const height = Math.max(expected.height, actual.height);
  const differs = new Uint8Array(width * height);
  const columns = Math.ceil(width / kSquare);
  const squares = new Uint32Array(columns * Math.ceil(height / kSquare));
  const counts = { alike: 0, edge: 0, clear: 0 };
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const kind = kindOf(expected, actual, x, y);
      ++counts[kind];
      if (kind === 'alike') continue;
      differs[y * width + x] = 1;
      squares[Math.floor(y / kSquare) * columns + Math.floor(x / kSquare)]! += 1;
    }
  }
  const most = Math.max(...squares);
  const worst = squares.indexOf(most);
  const text = [];
  if (expected.width !== actual.width || expected.height !== actual.height) {
    text.push(`it is ${sizeOf(actual)}, not ${sizeOf(expected)}`);
  }
  const many = counts.edge > (width * height * kOfWhole) / 1000;
  if (counts.clear > kClear || most > kOfSquare || many) {
    const at = `${(worst % columns) * kSquare},${Math.floor(worst / columns) * kSquare}`;
    text.push(`${counts.clear + counts.edge} pixels differ, most of them around ${at}`);
  }
  if (text.length === 0) return null;
  return { text: text.join('; '), picture: shown(expected, width, height, differs) };
}

function sizeOf({ width, height }: Picture): string {
  return `${width}x${height}`;
}

function kindOf(expected: Picture, actual: Picture, x: number, y: number): Kind {
  if (!has(expected, x, y) || !has(actual, x, y)) return 'clear';
  const far = apart(expected, x, y, actual, x, y);
  if (far <= kFlat) return 'alike';
  const flat = Number(isFlat(expected, x, y)) + Number(isFlat(actual, x, y));
  if (flat > 0) return flat === 2 || far > kHalfFlat ? 'clear' : 'alike';
  return isNear(expected, x, y, actual) && isNear(actual, x, y, expected) ? 'alike' : 'edge';
}

/** Whether a pixel like that one is in `other`, there or beside there. */
function isNear(picture: Picture, x: number, y: number, other: Picture): boolean {
  for (let dy = -1; dy <= 1; ++dy) {
    for (let dx = -1; dx <= 1; ++dx) {
      if (!has(other, x + dx, y + dy)) continue;
      if (apart(picture, x, y, other, x + dx, y + dy) <= kEdge) return true;
    }
  }
  return false;
}

function isFlat(picture: Picture, x: number, y: number): boolean {
  for (let dy = -1; dy <= 1; ++dy) {
    for (let dx = -1; dx <= 1; ++dx) {
      if (!has(picture, x + dx, y + dy)) continue;
      if (apart(picture, x, y, picture, x + dx, y + dy) > kFlat) return false;
    }
  }
  return true;
}

function has({ width, height }: Picture, x: number, y: number): boolean {
  return x >= 0 && y >= 0 && x < width && y < height;
}

function apart(a: Picture, ax: number, ay: number, b: Picture, bx: number, by: number): number {
  const i = (ay * a.width + ax) * 3;
  const k = (by * b.width + bx) * 3;
  return Math.max(
    Math.abs(a.pixels[i]! - b.pixels[k]!),
    Math.abs(a.pixels[i + 1]! - b.pixels[k + 1]!),
    Math.abs(a.pixels[i + 2]! - b.pixels[k + 2]!),
  );
}

function shown(expected: Picture, width: number, height: number, differs: Uint8Array): Picture {
  const pixels = new Uint8Array(width * height * 3).fill(255);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const to = (y * width + x) * 3;
      const from = (y * expected.width + x) * 3;
      if (differs[y * width + x]) pixels.set([220, 0, 0], to);
      else if (has(expected, x, y)) {
        for (let i = 0; i < 3; ++i) pixels[to + i] = 191 + expected.pixels[from + i]! / 4;
      }
    }
  }
  return { width, height, pixels };
}
