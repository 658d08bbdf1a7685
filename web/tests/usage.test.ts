// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageOf, usedShare } from '../src/usage.ts';
import type { PastSession } from '../src/wire.ts';

function session(id: number, fields: Partial<PastSession>): PastSession {
  return {
    id,
    name: null,
    user: 'ana',
    user_id: 1000,
    session: null,
    share: 'budget',
    device_count: 1,
    queued: '',
    started: '',
    ended: '',
    result: 'ok',
    wait_ms: 10,
    held_ms: 100,
    gpu_ms: 100,
    vram_granted_bytes: 0,
    vram_peak_bytes: null,
    known_ms: 0,
    vram_used_mib_seconds: null,
    vram_unused_mib_seconds: null,
    ...fields,
  };
}

test('sums by user, those who held most first', () => {
  const rows = usageOf([
    session(1, { vram_used_mib_seconds: 30, vram_unused_mib_seconds: 10 }),
    session(2, { user: 'ben', user_id: 1001, gpu_ms: 900, result: 'failed' }),
    session(3, { result: null }),
  ]);
  assert.deepEqual(
    rows.map((row) => [row.user, row.sessions, row.gpuMs, row.waitMs, row.failed]),
    [
      ['ben', 1, 900, 10, 1],
      ['ana', 2, 200, 20, 0],
    ],
  );
  assert.equal(usedShare(rows[1]!), 75);
  assert.equal(usedShare(rows[0]!), null);
});

test('two users whose names are not known are two', () => {
  const rows = usageOf([session(1, { user: null }), session(2, { user: null, user_id: 7 })]);
  assert.deepEqual(rows.map((row) => row.user).sort(), ['uid 1000', 'uid 7']);
});
