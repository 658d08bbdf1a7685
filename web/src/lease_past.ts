// SPDX-License-Identifier: Apache-2.0
// What one lease used since it was granted. Pure.
import type { Past } from './wire.ts';
import { timeOf } from './format.ts';

export type LeasePast = {
  from: number;
  to: number;
  /** Runs of points without a gap between them: time, bytes on all its GPUs together. */
  runs: [number, number][][];
};

const kSteps = [1, 5, 10, 30, 60, 300, 600, 3600, 6 * 3600].map((seconds) => seconds * 1000);
const kPoints = 240;

/** The step in which so long a time has few enough points, in ms. */
export function stepFor(span: number): number {
  return kSteps.find((step) => span / step <= kPoints) ?? (kSteps[kSteps.length - 1] as number);
}

export function leasePastOf(past: Past, from: number, to: number): LeasePast {
  const sums = new Map<number, number>();
  for (const point of past.items) {
    const time = timeOf(point.time);
    if (time === null || point.of !== 'lease' || point.figure !== 'used') continue;
    // The step in which it was granted begins before that.
    const at = Math.max(time, from);
    sums.set(at, (sums.get(at) ?? 0) + (point.vram_max_bytes ?? 0));
  }
  const runs: [number, number][][] = [];
  let last = -Infinity;
  for (const [time, bytes] of [...sums].sort((a, b) => a[0] - b[0])) {
    // One step may be late by itself; two in a row are a gap.
    if (time - last > past.step_ms * 2) runs.push([]);
    runs[runs.length - 1]?.push([time, bytes]);
    last = time;
  }
  return { from, to, runs };
}
