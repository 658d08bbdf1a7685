// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as series from '../src/series.ts';
import type { Past, PastPoint } from '../src/wire.ts';
import { device, kGiB, kNow, lease, part } from './made.ts';

const kRange: series.Range = { name: 'test', span: 10_000, step: 1000 };
const name = (id: number) => `job ${id}`;

function point(second: number, gib: number, fields: Partial<PastPoint> = {}): PastPoint {
  return {
    time: new Date(kNow - second * 1000).toISOString(),
    of: 'lease',
    uuid: 'GPU-0',
    index: 0,
    lease: 1,
    pid: null,
    name: 'a',
    user: 'ana',
    user_id: 1000,
    figure: 'used',
    known_ms: 1000,
    vram_min_bytes: 0,
    vram_mean_bytes: 0,
    vram_max_bytes: gib * kGiB,
    percent_min: null,
    percent_mean: null,
    percent_max: null,
    ...fields,
  };
}

function past(items: PastPoint[], step = 1000): Past {
  const time = new Date(kNow).toISOString();
  return {
    schema: 'berth/history/v1',
    time,
    since: time,
    until: time,
    step_ms: step,
    cut: false,
    items,
  };
}

function filled(items: PastPoint[], step = 1000): series.Series {
  return series.withHistory(series.emptySeries(kRange, kNow), 'GPU-0', past(items, step), name);
}

const values = (line: series.Line | undefined) =>
  line?.values.map((bytes) => (bytes === null ? null : bytes / kGiB));

test('points of the history stand in their steps, and what is not known is null', () => {
  const known = filled([point(3, 2), point(2, 3)]);
  assert.deepEqual(values(known.lines[0]), [null, null, null, null, null, null, 2, 3, null, null]);
  assert.equal(known.lines[0]?.name, 'job 1');
});

test('points of another device, before and after the range are left out', () => {
  assert.equal(filled([point(2, 9, { uuid: 'GPU-1' })]).lines.length, 0);
  const known = filled([point(300, 9), point(-5, 9)]);
  assert.ok(known.lines.every((line) => line.values.every((value) => value === null)));
});

test('a long step of the daemon fills all steps it stands for', () => {
  const known = filled([point(4, 2)], 3000);
  assert.deepEqual(values(known.lines[0]), [null, null, null, null, null, 2, 2, 2, null, null]);
});

test('of several points in one step the most counts', () => {
  const known = filled([point(2, 2), point(2, 5), point(2, 1)]);
  assert.equal(values(known.lines[0])?.[7], 5);
});

test('unmanaged use lies lowest, then leases by when they began', () => {
  const known = filled([
    point(1, 1, { lease: 3 }),
    point(5, 1, { lease: 7 }),
    point(5, 1, { of: 'device', lease: null, figure: 'unmanaged' }),
  ]);
  assert.deepEqual(
    known.lines.map((line) => line.lease),
    [null, 7, 3],
  );
});

test('a sample is put into the last step, and the steps move on', () => {
  const gpu = device(0, { leases: [1], vram_granted_bytes: 4 * kGiB, gpu_utilization_percent: 80 });
  const leases = new Map([[1, lease(1, { devices: [part(0, 4, 2)] })]]);
  const named = () => 'job 1';
  const first = series.withSample(filled([]), gpu, leases, kNow, named);
  assert.equal(values(first.lines[1])?.[9], 2);
  assert.equal(first.busy[9], 80);
  const later = series.withSample(first, gpu, leases, kNow + 1000, named);
  assert.equal(later.start, first.start + 1000);
  assert.deepEqual(values(later.lines[1])?.slice(7), [null, 2, 2]);
});

test('steps that nobody looked at have the figures that stood then', () => {
  const gpu = device(0, { leases: [1] });
  const leases = new Map([[1, lease(1, { devices: [part(0, 4, 2)] })]]);
  const named = () => 'job 1';
  const first = series.withSample(filled([]), gpu, leases, kNow, named);
  const later = series.withSample(first, gpu, leases, kNow + 3000, named);
  assert.deepEqual(values(later.lines[1])?.slice(5), [null, 2, 2, 2, 2]);
});

test('the first sample does not fill what lies before it', () => {
  const gpu = device(0, { leases: [] });
  const late = series.withSample(filled([]), gpu, new Map(), kNow + 3000, () => '');
  assert.deepEqual(values(late.lines[0]), [
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    0,
  ]);
});

test('a suspended lease has no line of its own', () => {
  const gpu = device(0, { leases: [1] });
  const leases = new Map([[1, lease(1, { state: 'suspended', devices: [part(0, 4, 0)] })]]);
  const sampled = series.withSample(filled([]), gpu, leases, kNow, () => '');
  assert.deepEqual(
    sampled.lines.map((line) => line.lease),
    [null],
  );
});

test('lines are stacked, and a gap stays a gap', () => {
  const known = filled([point(3, 2), point(3, 1, { lease: 2 }), point(2, 4, { lease: 2 })]);
  const tops = series.stacked(known).map((line) => line.map((v) => (v === null ? null : v / kGiB)));
  assert.deepEqual(tops[0]?.slice(5, 9), [null, 2, 0, null]);
  assert.deepEqual(tops[1]?.slice(5, 9), [null, 3, 4, null]);
  assert.deepEqual(series.gapsOf(known), [
    [0, 5],
    [8, 9],
  ]);
  assert.equal(series.usedAt(known, 6), 3 * kGiB);
  assert.equal(series.usedAt(known, 8), null);
});

test('a line of which nothing is left in the range goes', () => {
  const gpu = device(0, { leases: [] });
  let now = filled([point(9, 2)]);
  assert.deepEqual(
    now.lines.map((line) => line.lease),
    [1],
  );
  now = series.withSample(now, gpu, new Map(), kNow + 1000, () => '');
  assert.deepEqual(
    now.lines.map((line) => line.lease),
    [null],
  );
});

test('how busy the device was comes from the past, too', () => {
  const busy = { of: 'device', lease: null, figure: 'utilization', vram_max_bytes: null } as const;
  const known = filled([point(2, 0, { ...busy, percent_mean: 80 })]);
  assert.deepEqual(known.busy, [null, null, null, null, null, null, null, 80, null, null]);
  assert.equal(known.lines.length, 0);
});
