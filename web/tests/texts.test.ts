// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../src/format.ts';
import * as overview from '../src/overview.ts';
import * as texts from '../src/texts.ts';
import type { Shortage, Why } from '../src/wire.ts';
import { device, kGiB, kNow, lease, model, part, waiting, why } from './made.ts';

test('figures as people read them', () => {
  assert.equal(format.gib(null), '—');
  assert.equal(format.gib(10.25 * kGiB), '10.3');
  assert.equal(format.size(50 * 1024 * 1024), '50 MiB');
  assert.equal(format.size(0), '0.0 GiB');
  assert.equal(format.size(1.5 * kGiB), '1.5 GiB');
  assert.equal(format.sizeArgument(9.19 * kGiB), '9.1G');
  assert.equal(format.sizeArgument(8 * kGiB), '8G');
  assert.equal(format.sizeArgument(0.05 * kGiB), '51M');
  assert.deepEqual([-5, 999, 61_000, 3_720_000, 90_000_000].map(format.duration), [
    '0 s',
    '0 s',
    '1 min',
    '1 h 02 min',
    '1 d 1 h',
  ]);
  assert.equal(format.joined([]), '');
  assert.equal(format.joined(['a', 'b', 'c']), 'a, b and c');
  assert.equal(format.timeOf('nonsense'), null);
});

test('the page begins with what is free, who holds and who waits', () => {
  const now = model({
    devices: [device(0, { vram_granted_bytes: 12 * kGiB, vram_grantable_bytes: 3 * kGiB })],
    leases: [lease(1, { devices: [part(0, 12, 1)] }), waiting(2)],
    queue: [2],
  });
  const totals = overview.totalsOf(now);
  assert.equal(texts.headline(totals, null), '3.0 GiB free to grant');
  assert.equal(
    texts.summary(totals, [], kNow + 14 * 60_000, kNow),
    '1 lease holds 12.0 of 16.0 GiB on 1 GPU. 1 request waits; the first starts in about 14 min.',
  );
  assert.match(texts.summary(totals, [device(1)], null, kNow), /^GPU 1 does not answer\. 1 lease/);
  assert.equal(texts.title('live', totals), 'Berth — 3.0 GiB free, 1 wait');
});

test('nobody there', () => {
  const totals = overview.totalsOf(model());
  assert.equal(texts.summary(totals, [], null, kNow), 'No lease, nobody waits. 1 GPU.');
});

const shortage: Shortage = {
  uuid: 'GPU-1',
  index: 1,
  vram_total_bytes: 24 * kGiB,
  vram_held_back_bytes: 0,
  vram_charged_bytes: 0,
  vram_grantable_bytes: 9.1 * kGiB,
  vram_missing_bytes: 14.9 * kGiB,
  vram_unmanaged_bytes: 2 * kGiB,
};
const holder = (id: number) => ({
  id,
  user: 'ana',
  user_id: 1000,
  name: null,
  vram_charged_bytes: kGiB,
  expected_end: null,
  has_ended: false,
  devices: [],
});

test('why a request waits, in one sentence or two', () => {
  const reason = (fields: Partial<Why>, ofLease: Parameters<typeof lease>[1] = {}) =>
    texts.reasonText(waiting(21, ofLease), why(21, fields));
  assert.equal(
    reason({ shortages: [shortage], holders: [holder(19), holder(17)] }),
    'GPU 1 can grant 9.1 of the 24.0 GiB. It fits when 19 and 17 have ended.',
  );
  assert.equal(reason({ reason: 'turn', ahead: [20] }), 'It would fit now, but 20 is ahead.');
  assert.equal(
    reason({ reason: 'unmanaged', shortages: [shortage] }),
    'Processes without a lease use 2.0 GiB.',
  );
  assert.equal(
    reason(
      { reason: 'after' },
      {
        after: [
          { lease: 3, ends: 'ok' },
          { lease: 4, ends: 'any' },
        ],
      },
    ),
    'It starts when 3 and 4 ended.',
  );
});

test('each reason has a sentence of its own', () => {
  const reasons: Why['reason'][] = [
    'memory',
    'turn',
    'exclusive',
    'unmanaged',
    'driver',
    'parked',
    'members',
    'on_hold',
    'not_reconnected',
    'claim',
    'passed',
    'user_limit',
    'stopped',
    'probing',
    'slices',
    'above_limit',
    'outlived',
    'returns',
  ];
  const said = reasons.map((reason) => texts.reasonText(waiting(1), why(1, { reason })));
  assert.equal(new Set(said).size, reasons.length);
  for (const sentence of said) assert.match(sentence, /^[A-Z].*\.$/);
});

test('what is left of a lease', () => {
  const left = (fields: Parameters<typeof lease>[1]) => texts.leftText(lease(1, fields), kNow);
  const at = (ms: number) => new Date(kNow + ms).toISOString();
  assert.equal(left({}), 'no end known');
  assert.equal(left({ expected_end: at(14 * 60_000) }), '~14 min');
  assert.equal(left({ expected_end: at(-1) }), 'any moment');
  assert.equal(left({ expires: at(120_000) }), '~2 min');
  const paused = { since: at(-1), until: null, reason: null, by: 'ana', by_id: 1000 };
  assert.equal(left({ state: 'suspended', paused }), 'until resumed');
});

test('states and who made them so', () => {
  const said = (fields: Parameters<typeof lease>[1]) => {
    const one = lease(1, fields);
    const state = overview.stateOf(one, false);
    return `${texts.stateWord(one, state)} ${texts.stateNote(one, state, kNow)}`.trim();
  };
  const since = new Date(kNow - 26 * 60_000).toISOString();
  assert.equal(said({ idle_since: since }), 'idle 26 min');
  assert.equal(said({ flags: ['over_budget'] }), 'over budget');
  const paused = { since, until: null, reason: null, by: 'ana', by_id: 1000 };
  assert.equal(said({ state: 'suspended', paused }), 'suspended by ana');
  const halted = { reason: 'measure', since, cause: null, for: null, idle_ms: null } as const;
  assert.equal(said({ state: 'suspended', halted }), 'suspended to leave room');
  assert.equal(said({ flags: ['suspending'] }), 'moving to host memory');
});

test('a remedy is a verb, an object and an effect', () => {
  const remedy = { kind: 'pause_lease', id: 15, vram_bytes: null, uuid: null, also: [16] } as const;
  assert.equal(texts.remedyLabel({ ...remedy, also: [16] }, true, 'ben'), 'Pause 15 and 16');
  assert.equal(texts.remedyLabel({ ...remedy, also: [] }, false, 'ben'), 'Message ben: pause 15');
});

test('no sentence of the page blames or shouts', async () => {
  const { readFile } = await import('node:fs/promises');
  const source = await readFile(new URL('../src/texts.ts', import.meta.url), 'utf8');
  assert.doesNotMatch(source, /'[^']*\b(Error|Oops|Are you sure|Submit|OK)\b[^']*'/);
});

test('the head of a device tells what is known, with its unit', () => {
  assert.deepEqual(texts.vitals(device(0)), []);
  const known = { gpu_utilization_percent: 0, temperature_celsius: 61, power_milliwatts: 238_900 };
  assert.deepEqual(texts.vitals(device(0, known)), [
    ['0', '% busy'],
    ['61', '°C'],
    ['239', 'W'],
  ]);
  const limited = { power_milliwatts: 238_000, power_limit_milliwatts: 360_000 };
  assert.deepEqual(texts.vitals(device(0, limited)), [['238', 'of 360 W']]);
});

test('the next try is now or in whole seconds, and never in 0 s', () => {
  const trying = (inMs: number) => texts.lostText(kNow, kNow, inMs)[1].replace(/.*page\. /, '');
  assert.equal(trying(0), 'Trying again now.');
  assert.equal(trying(400), 'Trying again in 1 s.');
  assert.equal(trying(4000), 'Trying again in 4 s.');
});
