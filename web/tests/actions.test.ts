// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionOf, actionOfRemedy, verbsFor } from '../src/actions.ts';
import type { Remedy } from '../src/wire.ts';
import { after, kGiB, kNow, lease, model, part, waiting, why } from './made.ts';

const remedy = (kind: Remedy['kind'], fields: Partial<Remedy> = {}): Remedy => ({
  kind,
  id: null,
  vram_bytes: null,
  uuid: null,
  also: [],
  ...fields,
});

test('what may be done depends on whose it is and where it stands', () => {
  const now = model();
  assert.deepEqual(verbsFor(lease(1), now), ['pause', 'release']);
  const saves = {
    by: 'signal',
    grace_ms: 1,
    every_ms: null,
    asked: null,
    last: null,
    saved: null,
  } as const;
  assert.deepEqual(verbsFor(lease(1, { checkpoint: saves, requeue_grace_ms: 1000 }), now), [
    'save',
    'pause',
    'release',
    'requeue',
  ]);
  assert.deepEqual(verbsFor(lease(1, { state: 'suspended' }), now), ['resume', 'release']);
  assert.deepEqual(verbsFor(lease(1, { flags: ['frozen'] }), now), ['resume', 'release']);
  assert.deepEqual(verbsFor(lease(1, { state: 'releasing' }), now), []);
  assert.deepEqual(verbsFor(waiting(1), now), ['hold', 'cancel']);
  const held = { since: '', by: 'ana', by_id: 1000, reason: null };
  assert.deepEqual(verbsFor(waiting(1, { on_hold: held }), now), ['unhold', 'cancel']);
});

test('to what is not theirs, a viewer can write; who may only look, nothing', () => {
  const theirs = lease(1, { user_id: 1001, user: 'ben' });
  assert.deepEqual(verbsFor(theirs, model()), ['message']);
  assert.deepEqual(verbsFor(waiting(1, { user_id: 1001 }), model()), []);
  const looks = model({ viewer: { user: 'ana', user_id: 1000, may_act: false, admin: true } });
  assert.deepEqual(verbsFor(lease(1), looks), []);
});

test('a pause says what moves, whom it helps and how it is undone', () => {
  const held = lease(12, { devices: [part(0, 11, 9.8)] });
  const asks = waiting(22, { name: 'sd-xl', user: 'ben' });
  const known = after(model({ leases: [held, asks], queue: [22] }), {
    kind: 'reasons',
    reasons: [why(22, { remedies: [remedy('pause_lease', { id: 12 })] })],
  });
  const action = actionOf('pause', held, known, kNow);
  assert.deepEqual(action.effects, [
    'Its 9.8 GiB move to host memory.',
    '22 ben/sd-xl could start then.',
    '12 goes on when you resume it and there is room.',
  ]);
  assert.equal(action.path, '/v1/leases/12/suspend');
  assert.equal(action.command, 'berth pause 12');
  assert.equal(action.undo, 'resume');
  assert.equal(action.harmless, false);
});

test('nobody is promised a start who needs more than that', () => {
  const held = lease(12, { devices: [part(0, 11, 9.8)] });
  const known = after(model({ leases: [held, waiting(22)], queue: [22] }), {
    kind: 'reasons',
    reasons: [why(22, { remedies: [remedy('pause_lease', { id: 12, also: [13] })] })],
  });
  assert.equal(actionOf('pause', held, known, kNow).effects.length, 2);
});

test('a release says what is lost', () => {
  const saves = (saved: string | null) =>
    ({ by: 'signal', grace_ms: 1, every_ms: null, asked: null, last: null, saved }) as const;
  const effects = (fields: Parameters<typeof lease>[1]) =>
    actionOf('release', lease(1, fields), model(), kNow).effects.join(' ');
  assert.match(effects({}), /cannot be asked to save itself/);
  assert.match(effects({ checkpoint: saves(null) }), /all that it computed is lost/);
  assert.match(
    effects({ checkpoint: saves(new Date(kNow - 120_000).toISOString()) }),
    /saved itself 2 min ago; what came after is lost/,
  );
  assert.deepEqual(actionOf('release', lease(1), model(), kNow).body, { kill: true });
});

test('each remedy is a button that does it', () => {
  const mine = lease(12, { devices: [part(0, 11, 9)] });
  const asks = waiting(22);
  const known = model({ leases: [mine, asks], queue: [22] });
  const done = (one: Remedy) => actionOfRemedy(one, asks, known, kNow);
  const less = done(remedy('ask_less', { vram_bytes: 9.1 * kGiB }));
  assert.equal(less?.path, '/v1/leases/22/edit');
  assert.deepEqual(less?.body, { vram_bytes: 9.1 * kGiB });
  assert.equal(less?.command, 'berth edit 22 -m 9.1G');
  assert.equal(done(remedy('pause_lease', { id: 12 }))?.path, '/v1/leases/12/suspend');
  assert.equal(done(remedy('release_lease', { id: 12 }))?.path, '/v1/leases/12/release');
  assert.equal(done(remedy('end_programs', { id: 12 }))?.path, '/v1/leases/12/release');
  assert.equal(done(remedy('requeue_lease', { id: 12 }))?.path, '/v1/leases/12/requeue');
  assert.equal(done(remedy('cancel_lease', { id: 12 }))?.path, '/v1/leases/12/release');
  assert.equal(done(remedy('cancel_lease', { id: 22 }))?.path, '/v1/leases/22/cancel');
  const shrink = done(remedy('shrink_lease', { id: 12, vram_bytes: 10 * kGiB }));
  assert.equal(shrink?.path, '/v1/leases/12/resize');
  assert.equal(shrink?.command, 'berth resize 12 -m 10G');
  assert.equal(done(remedy('other_device', { uuid: 'GPU-1' })), null);
  assert.equal(done(remedy('pause_lease', { id: 12, also: [13] })), null);
  assert.equal(done(remedy('pause_lease', { id: 99 })), null);
});

test('what is not theirs becomes a message to its owner', () => {
  const theirs = lease(15, { user: 'ben', user_id: 1001, devices: [part(0, 11, 9)] });
  const asks = waiting(21, { name: 'finetune' });
  const known = model({ leases: [theirs, asks], queue: [21] });
  const action = actionOfRemedy(remedy('pause_lease', { id: 15 }), asks, known, kNow);
  assert.equal(action?.path, '/v1/leases/15/message');
  assert.deepEqual(action?.body, {
    text: 'could you pause 15? 21 ana/finetune waits for that room',
  });
  assert.equal(action?.done, 'ben was asked.');
});

test('nobody edits the request of another', () => {
  const asks = waiting(22, { user_id: 1001 });
  const known = model({ leases: [asks], queue: [22] });
  assert.equal(actionOfRemedy(remedy('ask_less', { vram_bytes: kGiB }), asks, known, kNow), null);
});
