// SPDX-License-Identifier: Apache-2.0
// What a device's chart draws: the daemon's history, and live samples behind it. Pure.
import type { Device, Lease, Past, PastPoint } from './wire.ts';
import { timeOf } from './format.ts';
import * as texts from './texts.ts';

/** A range of time that can be chosen, and what one point of it stands for, in ms. */
export type Range = { name: string; span: number; step: number };

const kMinute = 60_000;
export const kRanges: readonly Range[] = [
  { name: '5 min', span: 5 * kMinute, step: 2000 },
  { name: '1 h', span: 60 * kMinute, step: 10_000 },
  { name: '24 h', span: 24 * 60 * kMinute, step: 4 * kMinute },
  { name: '30 d', span: 30 * 24 * 60 * kMinute, step: 120 * kMinute },
];

/** As many leases that are over have a line of their own, the largest; all others share one. */
export const kLinesMax = 40;

/** A line of the chart: bytes by step, null where it is not known. */
export type Line = {
  /** Of the lease; null: what processes without a lease use. */
  lease: number | 'others' | null;
  name: string;
  values: (number | null)[];
};

/** Of one device: steps of equal length, oldest first. */
export type Series = {
  /** When the first step begins, in ms since 1970; a multiple of the step. */
  start: number;
  step: number;
  count: number;
  /** Unmanaged use lowest, then the others, then leases in the order of their first point. */
  lines: Line[];
  /** Granted to leases. */
  granted: (number | null)[];
  /** How long the device was busy, in percent. */
  busy: (number | null)[];
  /** Whether its last step has figures of the page's own. */
  sampled: boolean;
};

export function emptySeries(range: Range, now: number): Series {
  const count = Math.round(range.span / range.step);
  const start = Math.floor(now / range.step) * range.step - (count - 1) * range.step;
  return {
    start,
    step: range.step,
    count,
    lines: [],
    granted: unknown(count),
    busy: unknown(count),
    sampled: false,
  };
}

/** The series with what the daemon remembers of the device. `here`: leases that are on it now. */
export function withHistory(
  series: Series,
  uuid: string,
  past: Past,
  nameOf: (lease: number, name: string | null) => string,
  here: ReadonlySet<number>,
): Series {
  // One answer is of the device, and another of its leases.
  const filled = {
    ...series,
    lines: series.lines.map((line) => ({ ...line, values: [...line.values] })),
    granted: [...series.granted],
    busy: [...series.busy],
  };
  const leases = new Map<number, PastPoint[]>();
  for (const point of past.items) {
    if (point.uuid !== uuid) continue;
    if (point.of === 'lease' && point.figure === 'used' && point.lease !== null) {
      const points = leases.get(point.lease);
      if (points) points.push(point);
      else leases.set(point.lease, [point]);
      continue;
    }
    const values = valuesFor(filled, point);
    if (values) fill(filled, values, point, past.step_ms);
  }
  filled.lines = filled.lines.filter((line) => !isOneOf(leases, line));
  for (const [id, points] of leases) {
    const line = {
      lease: id,
      name: nameOf(id, points[0]?.name ?? null),
      values: unknown(series.count),
    };
    for (const point of points) fill(filled, line.values, point, past.step_ms);
    filled.lines.push(line);
    // Not all at once: there may be thousands.
    if (filled.lines.length > 4 * kLinesMax) filled.lines = folded(filled.lines, here);
  }
  const lines = folded(filled.lines, here);
  lines.sort(
    (a, b) =>
      Number(isOfALease(a)) - Number(isOfALease(b)) ||
      firstKnown(a) - firstKnown(b) ||
      Number(a.lease) - Number(b.lease),
  );
  const isUnmanaged = (line: Line) => line.lease === null;
  lines.sort((a, b) => Number(isUnmanaged(b)) - Number(isUnmanaged(a)));
  return { ...filled, lines };
}

const isOneOf = (leases: ReadonlyMap<number, unknown>, line: Line) =>
  typeof line.lease === 'number' && leases.has(line.lease);
const isOfALease = (line: Line) => typeof line.lease === 'number';

/** With the smallest lines in that of the others, where there are too many of leases not in
 *  `here`. The sum stays. */
function folded(lines: Line[], here: ReadonlySet<number>): Line[] {
  const over = lines.filter((line) => typeof line.lease === 'number' && !here.has(line.lease));
  if (over.length <= kLinesMax) return lines;
  const most = new Map(over.map((line) => [line, Math.max(...line.values.map((one) => one ?? 0))]));
  over.sort((a, b) => (most.get(b) ?? 0) - (most.get(a) ?? 0));
  const small = new Set(over.slice(kLinesMax));
  const before = lines.find((line) => line.lease === 'others');
  const count = over[0]?.values.length ?? 0;
  const others: Line = { lease: 'others', name: texts.device.others, values: unknown(count) };
  for (const line of before ? [before, ...small] : small) {
    line.values.forEach((value, i) => {
      if (value !== null) others.values[i] = (others.values[i] ?? 0) + value;
    });
  }
  const kept = lines.filter((line) => line.lease !== 'others' && !small.has(line));
  const unmanaged = kept[0]?.lease === null ? 1 : 0;
  return [...kept.slice(0, unmanaged), others, ...kept.slice(unmanaged)];
}

/** The series with the figures of now in its last step, moved on where steps are over. What is
 *  shown stands until the daemon says otherwise: steps that nobody looked at have it too. */
export function withSample(
  series: Series,
  device: Device,
  leases: ReadonlyMap<number, Lease>,
  now: number,
  nameOf: (lease: Lease) => string,
): Series {
  const steps = stepsTo(series, now);
  const moved = movedBy(series, steps);
  const first = moved.count - (series.sampled ? Math.max(1, steps) : 1);
  const put = (values: (number | null)[], value: number | null) => {
    if (value === null) return;
    for (let i = first; i < moved.count; ++i) values[i] = Math.max(values[i] ?? 0, value);
  };
  put(moved.granted, device.vram_granted_bytes);
  put(moved.busy, device.gpu_utilization_percent);
  put(lineOf(moved, null, '').values, device.vram_unmanaged_bytes);
  for (const id of device.leases) {
    const lease = leases.get(id);
    const part = lease?.devices.find((one) => one.uuid === device.uuid);
    if (!lease || !part || lease.state === 'suspended') continue;
    put(lineOf(moved, id, nameOf(lease)).values, part.vram_used_bytes);
  }
  return { ...moved, lines: folded(moved.lines, new Set(device.leases)), sampled: true };
}

export function timesOf(series: Series): number[] {
  return Array.from({ length: series.count }, (_, i) => (series.start + i * series.step) / 1000);
}

/** Each line on top of those before it; what is not known of one is known of none above it only
 *  where nothing at all is known of the device. */
export function stacked(series: Series): (number | null)[][] {
  const known = knownSteps(series);
  const sum: number[] = new Array(series.count).fill(0);
  return series.lines.map((line) =>
    sum.map((below, i) => {
      if (!known[i]) return null;
      sum[i] = below + (line.values[i] ?? 0);
      return sum[i] as number;
    }),
  );
}

/** Whether anything is known of the device's use in each step. */
export function knownSteps(series: Series): boolean[] {
  return Array.from({ length: series.count }, (_, i) =>
    series.lines.some((line) => line.values[i] !== null && line.values[i] !== undefined),
  );
}

/** Steps of which nothing is known, as [first, last]; those before the first that is known too. */
export function gapsOf(series: Series): [number, number][] {
  const gaps: [number, number][] = [];
  knownSteps(series).forEach((known, i) => {
    const last = gaps[gaps.length - 1];
    if (known) return;
    if (last && last[1] === i - 1) last[1] = i;
    else gaps.push([i, i]);
  });
  return gaps;
}

export function usedAt(series: Series, step: number): number | null {
  if (!series.lines.some((line) => line.values[step] !== null)) return null;
  return series.lines.reduce((sum, line) => sum + (line.values[step] ?? 0), 0);
}

function unknown(count: number): (number | null)[] {
  return new Array(count).fill(null);
}

function firstKnown(line: Line): number {
  const first = line.values.findIndex((value) => value !== null);
  return first < 0 ? line.values.length : first;
}

function valuesFor(series: Series, point: PastPoint): (number | null)[] | null {
  if (point.of === 'device' && point.figure === 'granted') return series.granted;
  if (point.of === 'device' && point.figure === 'unmanaged') {
    return lineOf(series, null, '').values;
  }
  if (point.of === 'device' && point.figure === 'utilization') return series.busy;
  return null;
}

function lineOf(series: Series, lease: number | null, name: string): Line {
  const known = series.lines.find((line) => line.lease === lease);
  if (known) return known;
  const line = { lease, name, values: unknown(series.count) };
  if (lease === null) series.lines.unshift(line);
  else series.lines.push(line);
  return line;
}

/** A step of the daemon may stand for several of ours, and several of its for one of ours: then
 *  the most counts. */
function fill(series: Series, values: (number | null)[], point: PastPoint, stepMs: number): void {
  const time = timeOf(point.time);
  const value = point.vram_max_bytes ?? point.percent_mean;
  if (time === null || value === null) return;
  const first = Math.floor((time - series.start) / series.step);
  const last = Math.max(first, Math.floor((time + stepMs - 1 - series.start) / series.step));
  for (let i = Math.max(0, first); i <= Math.min(series.count - 1, last); ++i) {
    values[i] = Math.max(values[i] ?? 0, value);
  }
}

function stepsTo(series: Series, now: number): number {
  const last = series.start + (series.count - 1) * series.step;
  return Math.min(series.count, Math.max(0, Math.floor((now - last) / series.step)));
}

function movedBy(series: Series, steps: number): Series {
  const shifted = (values: (number | null)[]) => [...values.slice(steps), ...unknown(steps)];
  const lines = series.lines.map((line) => ({ ...line, values: shifted(line.values) }));
  return {
    ...series,
    start: series.start + steps * series.step,
    lines: lines.filter(
      (line) => line.lease === null || line.values.some((value) => value !== null),
    ),
    granted: shifted(series.granted),
    busy: shifted(series.busy),
  };
}
