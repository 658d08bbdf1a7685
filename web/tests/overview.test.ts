// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as overview from '../src/overview.ts';
import { device, kGiB, kNow, lease, model, part, waiting } from './made.ts';

const kById: overview.Sort = { key: 'id', descending: false };

test('the figures of a device add up to it', () => {
  const now = model({
    devices: [
      device(0, {
        leases: [1, 2],
        vram_unmanaged_bytes: 2 * kGiB,
        vram_held_back_bytes: 3 * kGiB,
        vram_grantable_bytes: 3 * kGiB,
      }),
    ],
    leases: [lease(1, { devices: [part(0, 6, 5)] }), lease(2, { devices: [part(0, 4, 1)] })],
  });
  const segments = overview.segmentsOf(now.devices[0]!, now.leases);
  assert.deepEqual(
    segments.map((one) => [one.kind, one.bytes / kGiB]),
    [
      ['lease', 6],
      ['lease', 4],
      ['unmanaged', 2],
      ['held_back', 1],
      ['free', 3],
    ],
  );
  assert.equal(
    segments.reduce((sum, one) => sum + one.bytes, 0),
    16 * kGiB,
  );
  assert.equal(overview.usedByLeases(segments), 6 * kGiB);
});

test('a lease above its budget is drawn as large as its use', () => {
  const now = model({
    devices: [device(0, { leases: [1] })],
    leases: [lease(1, { devices: [part(0, 4, 6)] })],
  });
  assert.equal(overview.segmentsOf(now.devices[0]!, now.leases)[0]?.bytes, 6 * kGiB);
});

test('unmanaged use beyond what is held back is not counted twice', () => {
  const much = device(0, { vram_unmanaged_bytes: 9 * kGiB, vram_held_back_bytes: 3 * kGiB });
  assert.equal(overview.unmanagedPartOf(much), 3 * kGiB);
  const ignored = device(0, { vram_unmanaged_bytes: 2 * kGiB, vram_ignored_bytes: 2 * kGiB });
  assert.equal(overview.unmanagedPartOf(ignored), 0);
});

test('what a silent device uses is not known, and nothing on it is free', () => {
  const silent = device(1, { lost: true, leases: [1], vram_grantable_bytes: 5 * kGiB });
  const now = model({
    devices: [device(0), silent],
    leases: [lease(1, { devices: [part(1, 8, 3)] })],
  });
  const segments = overview.segmentsOf(silent, now.leases);
  assert.equal(overview.usedByLeases(segments), null);
  assert.equal(overview.totalsOf(now).grantable, 15 * kGiB);
});

test('a device that sleeps is not gone', () => {
  assert.equal(overview.isGone(device(0, { asleep: true, vram_used_bytes: null })), false);
  assert.equal(overview.isGone(device(0, { vram_used_bytes: null })), true);
});

test('a set is not a request of its own', () => {
  const now = model({
    leases: [waiting(5, { set: { begun: 0, ended: 0, failed: 0 }, members: 3 }), waiting(6)],
    queue: [5, 6],
  });
  assert.deepEqual(
    overview.requestsOf(now).map((one) => one.id),
    [6],
  );
  assert.equal(overview.totalsOf(now).waiting, 1);
});

test('what is most pressing is said first of a lease', () => {
  const sign = (fields: Parameters<typeof lease>[1], othersWait = false) => {
    const { sign, tone } = overview.stateOf(lease(1, fields), othersWait);
    return `${sign} ${tone}`;
  };
  assert.equal(sign({}), 'held plain');
  assert.equal(sign({ idle_since: '2026-03-01T13:00:00.000Z' }), 'idle plain');
  assert.equal(sign({ idle_since: '2026-03-01T13:00:00.000Z' }, true), 'idle warn');
  assert.equal(
    sign({ flags: ['over_budget'], idle_since: '2026-03-01T13:00:00.000Z' }),
    'held critical',
  );
  assert.equal(sign({ flags: ['full', 'over_budget'] }), 'full warn');
  assert.equal(sign({ flags: ['checkpointing', 'full'] }), 'saving plain');
  assert.equal(sign({ flags: ['frozen', 'checkpointing'] }), 'frozen plain');
  assert.equal(sign({ state: 'suspended' }), 'suspended plain');
  assert.equal(sign({ state: 'suspended', flags: ['resuming'] }), 'moving plain');
  assert.equal(sign({ flags: ['revoking', 'suspending'] }), 'ending plain');
  assert.equal(sign({ state: 'releasing' }), 'ending plain');
  assert.equal(sign({ state: 'waiting' }), 'waiting plain');
});

test('leases stand under the devices they are on, and the suspended ones apart', () => {
  const now = model({
    devices: [device(0), device(1)],
    leases: [
      lease(1, { devices: [part(1, 4, 1)] }),
      lease(2, { devices: [part(0, 4, 1), part(1, 4, 1)] }),
      lease(3, { devices: [part(0, 4, 1)], state: 'suspended' }),
      lease(4, { devices: [part(0, 4, 1)] }),
      waiting(5),
    ],
  });
  const groups = overview.groupsOf(now, 'all', kById);
  assert.deepEqual(
    groups.map((group) => [group.devices.join(), group.inHost, group.leases.map((one) => one.id)]),
    [
      ['0', false, [4]],
      ['1', false, [1]],
      ['0,1', false, [2]],
      ['', true, [3]],
    ],
  );
});

test('only those of the viewer, and in the order asked for', () => {
  const now = model({
    leases: [
      lease(1, { devices: [part(0, 4, 1)] }),
      lease(2, { devices: [part(0, 4, 3)] }),
      lease(3, { devices: [part(0, 4, 2)], user: 'ben', user_id: 1001 }),
      lease(4, { devices: [part(0, 4, null)] }),
    ],
  });
  const ids = (filter: overview.Filter, sort: overview.Sort) =>
    overview.groupsOf(now, filter, sort).flatMap((group) => group.leases.map((one) => one.id));
  assert.deepEqual(ids('mine', kById), [1, 2, 4]);
  assert.deepEqual(ids('all', { key: 'used', descending: true }), [2, 3, 1, 4]);
  assert.deepEqual(ids('all', { key: 'used', descending: false }), [1, 3, 2, 4]);
});

test('who may change a lease', () => {
  const mine = lease(1);
  const theirs = lease(2, { user_id: 1001 });
  const viewer = { user: 'ana', user_id: 1000, may_act: true, admin: false };
  assert.equal(overview.mayChange(mine, viewer), true);
  assert.equal(overview.mayChange(theirs, viewer), false);
  assert.equal(overview.mayChange(theirs, { ...viewer, admin: true }), true);
  assert.equal(overview.mayChange(mine, { ...viewer, may_act: false }), false);
  assert.equal(overview.mayChange(mine, null), false);
});

test('a set counts its members', () => {
  const now = model({
    leases: [
      waiting(9, { set: { begun: 5, ended: 3, failed: 1 }, members: 8 }),
      lease(10, { member: { set: 9, number: 4 }, devices: [part(0, 1, 1)] }),
      waiting(11, { member: { set: 9, number: 5 } }),
    ],
    queue: [9, 11],
  });
  const [row] = overview.setsOf(now);
  assert.deepEqual([row?.ok, row?.failed, row?.running, row?.waiting], [2, 1, 1, 4]);
});

test('names of leases', () => {
  assert.equal(overview.sessionOf(lease(1, { name: null })), 'ana');
  assert.equal(overview.sessionOf(lease(1, { user: null, name: 'x' })), 'uid 1000/x');
  assert.equal(overview.numberOf(lease(7, { member: { set: 3, number: 2 } })), '3.2');
  assert.ok(kNow > 0);
});
