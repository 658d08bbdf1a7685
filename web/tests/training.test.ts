// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { courseOf, lossText, trainingsOf } from '../src/training.ts';
import { kNow, lease } from './made.ts';

const point = (second: number, loss: number | null, phase: string | null) => ({
  time: new Date(kNow + second * 1000).toISOString(),
  done: second,
  loss,
  phase,
});

test('phases follow one another without a gap', () => {
  const course = courseOf([
    point(0, 9, 'warmup'),
    point(1, 8, 'warmup'),
    point(2, 7, 'full'),
    point(3, 6, 'full'),
    point(4, 6, 'warmup'),
  ]);
  assert.deepEqual(course?.phases, [
    { name: 'warmup', from: kNow, to: kNow + 2000 },
    { name: 'full', from: kNow + 2000, to: kNow + 4000 },
    { name: 'warmup', from: kNow + 4000, to: kNow + 4000 },
  ]);
  assert.equal(course?.least, 6);
  assert.equal(course?.most, 9);
});

test('a point without a loss is none of the line, and a run without one has no course', () => {
  const course = courseOf([point(0, 3, null), point(1, null, 'saving'), point(2, 2, null)]);
  assert.deepEqual(course?.losses, [
    [kNow, 3],
    [kNow + 2000, 2],
  ]);
  assert.equal(courseOf([point(0, null, 'saving')]), null);
  assert.equal(courseOf([]), null);
});

test('trainings are what tells of a loss', () => {
  const progress = { done: 1, total: 9, left_ms: null, note: null, time: '', phase: null };
  const leases = [
    lease(3, { progress: { ...progress, loss: 0 } }),
    lease(2, { progress: { ...progress, loss: null } }),
    lease(1, { progress: { ...progress, loss: 2 } }),
    lease(4),
  ];
  const found = trainingsOf(new Map(leases.map((one) => [one.id, one])));
  assert.deepEqual(
    found.map((one) => one.id),
    [1, 3],
  );
});

test('a loss has four digits that say something', () => {
  assert.equal(lossText(3.14159), '3.142');
  assert.equal(lossText(0.00012345), '1.23e-4');
  assert.equal(lossText(1234567), '1.23e+6');
  assert.equal(lossText(0), '0');
  assert.equal(lossText(10), '10');
});
