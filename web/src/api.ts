// SPDX-License-Identifier: Apache-2.0
// Questions to the daemon, and what it is asked to do. An edge.
import type {
  AlertTest,
  Audit,
  DoctorReport,
  Error as DaemonError,
  JobLog,
  Past,
  ProgressCourse,
  Sessions,
  Why,
} from './wire.ts';
import type { Action } from './actions.ts';
import { keyHeader } from './key.ts';

export type Answer<T> = { ok: true; value: T } | { ok: false; message: string };

async function ask<T>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
  try {
    const answer = await fetch(path, {
      ...init,
      cache: 'no-store',
      headers: { ...keyHeader(), ...init.headers },
    });
    const value: unknown = await answer.json();
    if (answer.ok) return { ok: true, value: value as T };
    return { ok: false, message: (value as DaemonError).error.message };
  } catch {
    return { ok: false, message: 'the daemon did not answer' };
  }
}

export function askWhy(lease: number): Promise<Answer<Why>> {
  return ask(`/v1/leases/${lease}/why`);
}

export function askProgress(lease: number): Promise<Answer<ProgressCourse>> {
  return ask(`/v1/leases/${lease}/progress`);
}

export function askLog(lease: number): Promise<Answer<JobLog>> {
  return ask(`/v1/leases/${lease}/log`);
}

export function askDoctor(): Promise<Answer<DoctorReport>> {
  return ask('/v1/doctor');
}

/** Of devices and leases, since `since` (ms since 1970), in steps of `step` ms. */
export function askHistory(
  of: 'device' | 'lease',
  since: number,
  step: number,
): Promise<Answer<Past>> {
  const query = new URLSearchParams({
    of,
    since: new Date(since).toISOString(),
    step: `${Math.round(step / 1000)}s`,
  });
  return ask(`/v1/history?${query}`);
}

/** Of one lease on its devices, since `since`, in steps of `step` ms. */
export function askLeaseHistory(lease: number, since: number, step: number): Promise<Answer<Past>> {
  const query = new URLSearchParams({
    of: 'lease',
    lease: String(lease),
    since: new Date(since).toISOString(),
    step: `${Math.round(step / 1000)}s`,
  });
  return ask(`/v1/history?${query}`);
}

export function askSessions(since: number): Promise<Answer<Sessions>> {
  return ask(
    `/v1/history/sessions?${new URLSearchParams({ since: new Date(since).toISOString() })}`,
  );
}

export function askEvents(since: number): Promise<Answer<Audit>> {
  return ask(`/v1/history/events?${new URLSearchParams({ since: new Date(since).toISOString() })}`);
}

export function send(action: Action): Promise<Answer<unknown>> {
  return ask(action.path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(action.body),
  });
}

export function testAlert(rule: string): Promise<Answer<AlertTest>> {
  return ask(`/v1/alerts/${encodeURIComponent(rule)}/test`, { method: 'POST' });
}
