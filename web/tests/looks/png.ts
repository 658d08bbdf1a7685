// SPDX-License-Identifier: Apache-2.0
// PNG as screenshots have it, with 8 bits a channel, and as pictures are kept: with a palette. Pure.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** Three bytes a pixel: red, green, blue. */
export type Picture = { width: number; height: number; pixels: Uint8Array };

const kSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const kColours = 256;
/** So many, the most frequent ones, are kept as they are. */
const kExact = 96;
/** Bytes a pixel, by the colour type of PNG: RGB, palette, RGB with alpha. */
const kBytes = new Map([
  [2, 3],
  [3, 1],
  [6, 4],
]);

export function pictureOf(png: Buffer): Picture {
  if (!png.subarray(0, 8).equals(kSignature)) throw new Error('this is no PNG');
  const chunks = chunksOf(png);
  const head = chunks.find(([type]) => type === 'IHDR')?.[1];
  if (!head) throw new Error('this PNG has no head');
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const bytes = kBytes.get(head[9] ?? -1);
  if (head[8] !== 8 || bytes === undefined || head[12] !== 0) {
    throw new Error(`PNG with ${head[8]} bits, colour type ${head[9]}: not supported`);
  }
  const data = Buffer.concat(chunks.filter(([type]) => type === 'IDAT').map(([, part]) => part));
  const rows = unfiltered(inflateSync(data), width * bytes, height, bytes);
  const palette = chunks.find(([type]) => type === 'PLTE')?.[1] ?? null;
  const pixels = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; ++i) {
    const from = palette ? (rows[i] ?? 0) * 3 : i * bytes;
    pixels.set((palette ?? rows).subarray(from, from + 3), i * 3);
  }
  return { width, height, pixels };
}

/** With 256 colours at most. The most frequent ones stay as they are. */
export function pngOf({ width, height, pixels }: Picture): Buffer {
  const { palette, indexOf } = paletteOf(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      rows[y * (width + 1) + 1 + x] = indexOf.get(colourAt(pixels, y * width + x)) ?? 0;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    kSignature,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap((colour) => parts(colour)))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunksOf(png: Buffer): [string, Buffer][] {
  const chunks: [string, Buffer][] = [];
  for (let at = 8; at + 12 <= png.length;) {
    const size = png.readUInt32BE(at);
    chunks.push([png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + size)]);
    at += size + 12;
  }
  return chunks;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

// Each row has a byte that says how it was filtered (PNG, section 9.2).
function unfiltered(data: Buffer, length: number, height: number, bytes: number): Uint8Array {
  const rows = new Uint8Array(length * height);
  for (let y = 0; y < height; ++y) {
    const filter = data[y * (length + 1)] ?? 0;
    for (let x = 0; x < length; ++x) {
      const at = y * length + x;
      const left = x < bytes ? 0 : (rows[at - bytes] ?? 0);
      const above = y === 0 ? 0 : (rows[at - length] ?? 0);
      const corner = x < bytes || y === 0 ? 0 : (rows[at - length - bytes] ?? 0);
      const guess = guessOf(filter, left, above, corner);
      rows[at] = (data[y * (length + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return rows;
}

function guessOf(filter: number, left: number, above: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  if (filter !== 4) return 0;
  const a = Math.abs(above - corner);
  const b = Math.abs(left - corner);
  const c = Math.abs(left + above - 2 * corner);
  if (a <= b && a <= c) return left;
  return b <= c ? above : corner;
}

function colourAt(pixels: Uint8Array, i: number): number {
  return ((pixels[i * 3] ?? 0) << 16) | ((pixels[i * 3 + 1] ?? 0) << 8) | (pixels[i * 3 + 2] ?? 0);
}

function parts(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function apart(one: number, other: number): number {
  const [a, b] = [parts(one), parts(other)];
  return Math.max(Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1]), Math.abs(a[2] - b[2]));
}

function paletteOf(pixels: Uint8Array): { palette: number[]; indexOf: Map<number, number> } {
  const counts = new Map<number, number>();
  for (let i = 0; i < pixels.length / 3; ++i) {
    const colour = colourAt(pixels, i);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const colours = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([one]) => one);
  const palette = colours.slice(0, kExact);
  // Then those that are farthest from all before them.
  const rest = colours.slice(kExact);
  const nearest = rest.map((colour) => Math.min(...palette.map((one) => apart(one, colour))));
  while (palette.length < kColours) {
    const most = nearest.indexOf(Math.max(0, ...nearest));
    const added = rest[most];
    if (added === undefined || nearest[most] === 0) break;
    palette.push(added);
    rest.forEach((colour, i) => (nearest[i] = Math.min(nearest[i]!, apart(added, colour))));
  }
  const indexOf = new Map(palette.map((colour, i) => [colour, i]));
  for (const colour of rest) {
    const far = palette.map((one) => apart(one, colour));
    indexOf.set(colour, far.indexOf(Math.min(...far)));
  }
  return { palette, indexOf };
}
