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

function filled(items: PastPoint[], step = 1000, here = new Set<number>()): series.Series {
  const empty = series.emptySeries(kRange, kNow);
  return series.withHistory(empty, 'GPU-0', past(items, step), name, here);
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

test('an answer about leases leaves what the one about the device said', () => {
  const unmanaged = point(5, 2, { of: 'device', lease: null, figure: 'unmanaged' });
  const both = [past([unmanaged]), past([point(3, 1)])];
  const put = (answers: Past[]) =>
    answers.reduce(
      (known, one) => series.withHistory(known, 'GPU-0', one, name, new Set()),
      series.emptySeries(kRange, kNow),
    );
  assert.deepEqual(
    put(both).lines.map((line) => line.lease),
    [null, 1],
  );
  assert.deepEqual(values(put(both).lines[0]), [
    null,
    null,
    null,
    null,
    2,
    null,
    null,
    null,
    null,
    null,
  ]);
  assert.deepEqual(put(both), put(both.reverse()));
});

function manyLeases(count: number): PastPoint[] {
  return Array.from({ length: count }, (_, i) => [
    point(1 + (i % 9), 1 + (i % 97), { lease: i + 1 }),
    point(1 + (i % 7), 1, { lease: i + 1 }),
  ]).flat();
}

test('of thousands of leases the largest have lines of their own, and the sum stays', () => {
  const points = manyLeases(5000);
  const known = filled(points, 1000, new Set([1]));
  assert.equal(known.lines.length, series.kLinesMax + 2);
  assert.equal(known.lines[0]?.lease, 'others');
  assert.ok(known.lines.some((line) => line.lease === 1));
  const sums = new Array(10).fill(0);
  const seen = new Map<string, number>();
  for (const one of points) {
    const step = 9 - (kNow - Date.parse(one.time)) / 1000;
    const key = `${one.lease} ${step}`;
    const more = Math.max(0, (one.vram_max_bytes ?? 0) - (seen.get(key) ?? 0));
    seen.set(key, (seen.get(key) ?? 0) + more);
    sums[step] += more;
  }
  for (let step = 0; step < 9; ++step) assert.equal(series.usedAt(known, step), sums[step]);
  const smallest = Math.min(
    ...known.lines
      .slice(1)
      .map((line) =>
        line.lease === 1 ? 97 : Math.max(...line.values.map((one) => (one ?? 0) / kGiB)),
      ),
  );
  assert.equal(smallest, 97, 'the largest of all are shown');
});

test('lines of leases that end while the page is open stay few, too', () => {
  let known = series.emptySeries({ name: 'test', span: 3_600_000, step: 10_000 }, kNow);
  for (let i = 0; i < 300; ++i) {
    const running = lease(i + 1, { devices: [part(0, 1, 1)] });
    const leases = new Map([[running.id, running]]);
    const now = kNow + i * 10_000;
    known = series.withSample(known, device(0, { leases: [running.id] }), leases, now, () => 'job');
    assert.ok(known.lines.length <= series.kLinesMax + 3);
  }
  assert.equal(series.usedAt(known, known.count - 1), kGiB);
  assert.equal(series.usedAt(known, known.count - 200), kGiB);
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
