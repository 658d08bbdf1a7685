// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyModel, kEndedKept, kEventsKept, step, timeNow } from '../src/live.ts';
import { after, device, kGiB, kNow, lease, model, part, snapshot, waiting } from './made.ts';

test('a snapshot replaces what was known', () => {
  const before = model({ leases: [lease(1, { devices: [part(0, 8, 1)] })], queue: [9] });
  const now = after(before, {
    kind: 'snapshot',
    at: kNow + 5,
    snapshot: snapshot({ sequence: 7, leases: [waiting(2)], queue: [2] }),
  });
  assert.deepEqual([...now.leases.keys()], [2]);
  assert.deepEqual(now.queue, [2]);
  assert.equal(now.sequence, 7);
  assert.equal(now.connection, 'live');
});

test('a change replaces only what it names', () => {
  const before = model({
    devices: [device(0), device(1)],
    leases: [lease(1), lease(2)],
    queue: [2],
  });
  const now = after(before, {
    kind: 'change',
    at: kNow + 1000,
    change: {
      sequence: 2,
      time: '2026-03-01T14:02:32.000Z',
      devices: [device(1, { vram_used_bytes: kGiB })],
      leases: [lease(2, { name: 'renamed' })],
    },
  });
  assert.equal(now.devices[0], before.devices[0]);
  assert.equal(now.devices[1]?.vram_used_bytes, kGiB);
  assert.equal(now.leases.get(1), before.leases.get(1));
  assert.equal(now.leases.get(2)?.name, 'renamed');
  assert.deepEqual(now.queue, [2]);
  assert.equal(now.time, kNow + 1000);
});

test('a change that does not follow asks for a new snapshot', () => {
  const change = { sequence: 3, time: '2026-03-01T14:02:32.000Z' };
  assert.equal(step(model(), { kind: 'change', at: kNow, change }), null);
});

test('a change that is known already changes nothing', () => {
  const before = model();
  const change = { sequence: 1, time: '2026-03-01T15:00:00.000Z', queue: [1] };
  assert.equal(step(before, { kind: 'change', at: kNow, change }), before);
});

test('a lease that ended leaves the live ones and is remembered', () => {
  const ended = lease(1, { state: 'ended', result: 'ok', ended: '2026-03-01T14:02:32.000Z' });
  const now = after(model({ leases: [lease(1), lease(2)] }), {
    kind: 'change',
    at: kNow,
    change: { sequence: 2, time: '2026-03-01T14:02:32.000Z', leases: [ended], gone: [1] },
  });
  assert.deepEqual([...now.leases.keys()], [2]);
  assert.deepEqual(now.ended, [ended]);
});

test('what a page keeps does not grow', () => {
  let now = model();
  for (let i = 0; i < 500; ++i) {
    now = after(now, {
      kind: 'change',
      at: kNow,
      change: {
        sequence: i + 2,
        time: '2026-03-01T14:02:32.000Z',
        leases: [lease(i + 1, { state: 'ended' })],
        events: [
          {
            time: '',
            verb: 'end',
            by: null,
            by_id: null,
            lease: i,
            user: null,
            user_id: null,
            name: null,
            reason: null,
          },
        ],
      },
    });
  }
  assert.equal(now.ended.length, kEndedKept);
  assert.equal(now.ended[0]?.id, 500);
  assert.equal(now.events.length, kEventsKept);
  assert.equal(now.events[0]?.lease, 499);
  assert.equal(now.leases.size, 0);
  assert.equal(now.hues.size, 0);
});

test('another state directory has other leases', () => {
  const known = after(model(), {
    kind: 'change',
    at: kNow,
    change: { sequence: 2, time: '', leases: [lease(1, { state: 'ended' })] },
  });
  const other = after(known, { kind: 'snapshot', at: kNow, snapshot: snapshot({ epoch: 'e2' }) });
  assert.deepEqual(other.ended, []);
});

test('without a connection the clock stands still', () => {
  const live = model();
  assert.equal(timeNow(live, kNow + 3000), kNow + 3000);
  const lost = after(live, { kind: 'lost', at: kNow + 4000 });
  assert.equal(timeNow(lost, kNow + 9000), kNow);
  assert.equal(lost.connectionSince, kNow + 4000);
  const still = after(lost, { kind: 'lost', at: kNow + 8000 });
  assert.equal(still.connectionSince, kNow + 4000);
});

test('an expired link stays expired', () => {
  const expired = after(emptyModel(kNow), { kind: 'expired', at: kNow });
  assert.equal(after(expired, { kind: 'lost', at: kNow }).connection, 'expired');
});

test('a lease keeps its hue while others come and go', () => {
  const on = (id: number, started: string) =>
    lease(id, { devices: [part(0, 4, 1)], started: `2026-03-01T13:0${started}:00.000Z` });
  const two = model({ leases: [on(1, '1'), on(2, '2')] });
  assert.deepEqual(
    [...two.hues],
    [
      [1, 0],
      [2, 1],
    ],
  );
  const without = after(two, {
    kind: 'change',
    at: kNow,
    change: { sequence: 2, time: '', gone: [1] },
  });
  assert.equal(without.hues.get(2), 1);
  const third = after(without, {
    kind: 'change',
    at: kNow,
    change: { sequence: 3, time: '', leases: [on(3, '3')] },
  });
  assert.equal(third.hues.get(3), 0);
});

test('leases on different devices may share a hue, members of a set always do', () => {
  const member = (id: number, number: number, gpu: number) =>
    lease(id, { devices: [part(gpu, 4, 1)], member: { set: 9, number } });
  const now = model({
    devices: [device(0), device(1)],
    leases: [
      lease(1, { devices: [part(0, 4, 1)] }),
      lease(2, { devices: [part(1, 4, 1)] }),
      member(3, 1, 0),
      member(4, 2, 1),
    ],
  });
  assert.equal(now.hues.get(1), 0);
  assert.equal(now.hues.get(2), 0);
  assert.equal(now.hues.get(3), now.hues.get(4));
});

test('the sixth lease on a device has a number of its own, to be framed', () => {
  const leases = [1, 2, 3, 4, 5, 6].map((id) => lease(id, { devices: [part(0, 1, 1)] }));
  assert.equal(model({ leases }).hues.get(6), 5);
});

test('a lease that has ended keeps its hue while it is remembered, and frees it for others', () => {
  const on = (id: number, fields: Parameters<typeof lease>[1] = {}) =>
    lease(id, { devices: [part(0, 4, 1)], ...fields });
  const two = model({ leases: [on(1), on(2)] });
  const now = after(two, {
    kind: 'change',
    at: kNow,
    change: { sequence: 2, time: '', leases: [on(1, { state: 'ended' }), on(3)] },
  });
  assert.deepEqual([now.hues.get(1), now.hues.get(2), now.hues.get(3)], [0, 1, 0]);
});
