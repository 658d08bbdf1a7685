// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leasePastOf, stepFor } from '../src/lease_past.ts';
import type { Past } from '../src/wire.ts';
import { kNow } from './made.ts';

const at = (second: number) => new Date(kNow + second * 1000).toISOString();

function past(points: [number, number, string?][]): Past {
  return {
    schema: 'berth/history/v1',
    time: at(0),
    since: at(0),
    until: at(0),
    step_ms: 1000,
    cut: false,
    items: points.map(([second, bytes, figure]) => ({
      time: at(second),
      of: 'lease',
      uuid: 'GPU-0',
      index: 0,
      lease: 1,
      pid: null,
      name: null,
      user: null,
      user_id: null,
      figure: (figure ?? 'used') as 'used',
      known_ms: 1000,
      vram_min_bytes: 0,
      vram_mean_bytes: 0,
      vram_max_bytes: bytes,
      percent_min: null,
      percent_mean: null,
      percent_max: null,
    })),
  };
}

test('what it uses of several GPUs is added up, and what it was granted is not', () => {
  const { runs } = leasePastOf(
    past([
      [1, 5],
      [1, 7],
      [1, 99, 'granted'],
      [2, 6],
    ]),
    0,
    0,
  );
  assert.deepEqual(runs, [
    [
      [kNow + 1000, 12],
      [kNow + 2000, 6],
    ],
  ]);
});

test('a gap parts the line, one late step does not', () => {
  const { runs } = leasePastOf(
    past([
      [1, 5],
      [3, 5],
      [6, 5],
      [7, 5],
    ]),
    0,
    0,
  );
  assert.deepEqual(
    runs.map((run) => run.length),
    [2, 2],
  );
});

test('a long time has long steps, and few enough points', () => {
  assert.equal(stepFor(60_000), 1000);
  assert.equal(stepFor(3_600_000), 30_000);
  for (const span of [1, 3600, 86_400, 30 * 86_400].map((seconds) => seconds * 1000)) {
    assert.ok(span / stepFor(span) <= 240);
  }
});

test('the step in which it was granted begins with the grant', () => {
  const { runs } = leasePastOf(
    past([
      [0, 5],
      [1, 5],
    ]),
    kNow + 400,
    0,
  );
  assert.deepEqual(runs, [
    [
      [kNow + 400, 5],
      [kNow + 1000, 5],
    ],
  ]);
});
