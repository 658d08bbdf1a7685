// SPDX-License-Identifier: Apache-2.0
// Who held what in the past: sums by user. Pure.
import type { PastSession } from './wire.ts';

export type Usage = {
  user: string;
  sessions: number;
  gpuMs: number;
  waitMs: number;
  /** In MiB seconds; null: of none of the sessions is it known. */
  used: number | null;
  /** Granted and not used. */
  unused: number | null;
  failed: number;
};

/** Those who held most first. */
export function usageOf(sessions: readonly PastSession[]): Usage[] {
  const byUser = new Map<number, Usage>();
  for (const session of sessions) {
    const usage = byUser.get(session.user_id) ?? {
      user: session.user ?? `uid ${session.user_id}`,
      sessions: 0,
      gpuMs: 0,
      waitMs: 0,
      used: null,
      unused: null,
      failed: 0,
    };
    byUser.set(session.user_id, {
      ...usage,
      sessions: usage.sessions + 1,
      gpuMs: usage.gpuMs + session.gpu_ms,
      waitMs: usage.waitMs + session.wait_ms,
      used: sum(usage.used, session.vram_used_mib_seconds),
      unused: sum(usage.unused, session.vram_unused_mib_seconds),
      failed: usage.failed + (session.result === null || session.result === 'ok' ? 0 : 1),
    });
  }
  return [...byUser.values()].sort((a, b) => b.gpuMs - a.gpuMs || a.user.localeCompare(b.user));
}

/** Of what was granted, the share that was used, in percent; null: not known. */
export function usedShare(usage: Usage): number | null {
  if (usage.used === null || usage.unused === null) return null;
  const granted = usage.used + usage.unused;
  return granted === 0 ? null : Math.round((usage.used / granted) * 100);
}

function sum(before: number | null, more: number | null): number | null {
  return more === null ? before : (before ?? 0) + more;
}
