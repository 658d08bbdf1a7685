// SPDX-License-Identifier: Apache-2.0
// What ran, what runs and what is expected, as bars on one axis of time. Pure.
import type { Lease } from './wire.ts';
import type { Model } from './live.ts';
import { timeOf } from './format.ts';
import { numberOf, requestsOf, sessionOf } from './overview.ts';

/** A part of a row. An `expected` one without an end fades: no end is known. */
export type Span = {
  kind: 'ran' | 'expected' | 'waits' | 'suspended';
  from: number;
  to: number | null;
};

export type Row = {
  lease: Lease;
  label: string;
  spans: Span[];
  /** Of what waits, when it is expected to start; null: not known. */
  starts: number | null;
};

/** Rows of one device; of several, or of none yet: null. */
export type RowGroup = { device: number | null; rows: Row[] };

export type Timeline = { from: number; to: number; now: number; groups: RowGroup[] };

const kHour = 3_600_000;
/** As much of the past and of what is to come. */
const kBefore = 1.5 * kHour;
const kAfter = 1.5 * kHour;
const kRowsShown = 30;

export function timelineOf(model: Model, now: number): Timeline {
  const from = now - kBefore;
  const to = now + kAfter;
  const running = [...model.leases.values()].filter((lease) => lease.state !== 'waiting');
  const ended = model.ended.filter((lease) => (timeOf(lease.ended) ?? 0) > from && lease.started);
  const waiting = requestsOf(model).map((lease) =>
    rowOf(lease, now, timeOf(model.reasons.get(lease.id)?.expected_start)),
  );
  // What runs comes first, then what waits; where there is room left, what ended last.
  const live = running.slice(0, kRowsShown);
  const shownWaiting = waiting.slice(0, kRowsShown - live.length);
  const past = ended.slice(0, kRowsShown - live.length - shownWaiting.length);
  const rows = [...past, ...live].map((lease) => rowOf(lease, now, null)).sort(byDeviceAndStart);
  return { from, to, now, groups: groupsOf([...rows, ...shownWaiting]) };
}

function deviceOf(lease: Lease): number | null {
  return lease.devices.length === 1 ? (lease.devices[0]?.index ?? null) : null;
}

function byDeviceAndStart(a: Row, b: Row): number {
  const device = (row: Row) => deviceOf(row.lease) ?? Infinity;
  const start = (row: Row) => row.spans[0]?.from ?? 0;
  // Two on several devices: Infinity - Infinity is not a number.
  return (device(a) === device(b) ? 0 : device(a) - device(b)) || start(a) - start(b);
}

function groupsOf(rows: readonly Row[]): RowGroup[] {
  const groups: RowGroup[] = [];
  for (const row of rows) {
    const device = deviceOf(row.lease);
    const last = groups[groups.length - 1];
    if (last && last.device === device) last.rows.push(row);
    else groups.push({ device, rows: [row] });
  }
  return groups;
}

function rowOf(lease: Lease, now: number, starts: number | null): Row {
  return {
    lease,
    label: `${numberOf(lease)} ${sessionOf(lease)}`,
    spans: spansOf(lease, now, starts),
    starts,
  };
}

function spansOf(lease: Lease, now: number, starts: number | null): Span[] {
  const started = timeOf(lease.started);
  if (lease.state === 'waiting') {
    if (starts === null) return [];
    const length = lease.eta_ms ?? lease.limit_ms;
    return [{ kind: 'waits', from: Math.max(now, starts), to: length ? starts + length : null }];
  }
  if (started === null) return [];
  if (lease.state === 'ended')
    return [{ kind: 'ran', from: started, to: timeOf(lease.ended) ?? now }];
  if (lease.state === 'suspended') {
    const since = timeOf(lease.halted?.since) ?? now;
    return [
      { kind: 'ran', from: started, to: since },
      { kind: 'suspended', from: since, to: now },
    ];
  }
  const end = timeOf(lease.expected_end);
  return [
    { kind: 'ran', from: started, to: now },
    ...(end === null || end > now ? [{ kind: 'expected' as const, from: now, to: end }] : []),
  ];
}
