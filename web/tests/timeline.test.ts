// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timelineOf as wholeOf } from '../src/timeline.ts';
import { after, kNow, lease, model, part, waiting, why } from './made.ts';

const timelineOf = (known: Parameters<typeof wholeOf>[0], now: number) => {
  const { groups } = wholeOf(known, now);
  return { groups, rows: groups.flatMap((group) => group.rows) };
};
const at = (minutes: number) => new Date(kNow + minutes * 60_000).toISOString();
const kMinute = 60_000;

test('what ran, runs and is expected', () => {
  const now = model({
    leases: [
      lease(1, { devices: [part(0, 4, 1)], started: at(-30), expected_end: at(20) }),
      lease(2, { devices: [part(0, 4, 1)], started: at(-10) }),
    ],
  });
  const { rows } = timelineOf(now, kNow);
  assert.deepEqual(rows[0]?.spans, [
    { kind: 'ran', from: kNow - 30 * kMinute, to: kNow },
    { kind: 'expected', from: kNow, to: kNow + 20 * kMinute },
  ]);
  assert.deepEqual(rows[1]?.spans[1], { kind: 'expected', from: kNow, to: null });
});

test('one whose expected end is past is not drawn into the past', () => {
  const late = lease(1, { devices: [part(0, 4, 1)], started: at(-30), expected_end: at(-5) });
  const [row] = timelineOf(model({ leases: [late] }), kNow).rows;
  assert.deepEqual(row?.spans, [{ kind: 'ran', from: kNow - 30 * kMinute, to: kNow }]);
});

test('a suspended lease ran until it was suspended', () => {
  const halted = {
    reason: 'paused',
    since: at(-10),
    cause: null,
    for: null,
    idle_ms: null,
  } as const;
  const one = lease(1, { state: 'suspended', devices: [part(0, 4, 0)], started: at(-30), halted });
  const [row] = timelineOf(model({ leases: [one] }), kNow).rows;
  assert.deepEqual(row?.spans, [
    { kind: 'ran', from: kNow - 30 * kMinute, to: kNow - 10 * kMinute },
    { kind: 'suspended', from: kNow - 10 * kMinute, to: kNow },
  ]);
});

test('a request is drawn where the daemon expects it to start, or not at all', () => {
  const known = after(
    model({ leases: [waiting(1, { eta_ms: 10 * kMinute }), waiting(2)], queue: [1, 2] }),
    { kind: 'reasons', reasons: [why(1, { expected_start: at(14) })] },
  );
  const { rows } = timelineOf(known, kNow);
  assert.deepEqual(rows[0]?.spans, [
    { kind: 'waits', from: kNow + 14 * kMinute, to: kNow + 24 * kMinute },
  ]);
  assert.deepEqual(rows[1]?.spans, []);
});

test('devices in their order, on each by when it began, and those that wait last', () => {
  const now = model({
    leases: [
      waiting(1),
      lease(2, { devices: [part(0, 4, 0)], started: at(-10) }),
      lease(3, { devices: [part(1, 4, 1)] }),
      lease(4, { devices: [part(0, 4, 1)] }),
    ],
    queue: [1],
  });
  assert.deepEqual(
    timelineOf(now, kNow).groups.map((group) => [
      group.device,
      ...group.rows.map((row) => row.lease.id),
    ]),
    [
      [0, 4, 2],
      [1, 3],
      [null, 1],
    ],
  );
});

test('many that have ended leave room for what runs and what waits', () => {
  const gone = Array.from({ length: 50 }, (_, i) =>
    lease(100 + i, {
      state: 'ended',
      devices: [part(0, 1, 1)],
      started: at(-60 + i / 10),
      ended: at(-1 - i / 10),
    }),
  );
  const runs = lease(1, { devices: [part(0, 4, 1)], started: at(-5) });
  const known = { ...model({ leases: [runs, waiting(2)], queue: [2] }), ended: gone };
  const numbers = timelineOf(known, kNow).rows.map((row) => row.lease.id);
  assert.equal(numbers.length, 30);
  assert.ok(numbers.includes(1) && numbers.includes(2));
  assert.ok(numbers.includes(100) && !numbers.includes(149), 'the last that ended are shown');
});
