// SPDX-License-Identifier: Apache-2.0
// Which colour a lease has, in bar, chart, table and timeline. Pure.
import type { Lease } from './wire.ts';

/** There are five; a sixth lease on a device begins again, with a frame. */
export const kHues = 5;

/** Of each lease a number from 0; hue `number % kHues`, framed from kHues on. */
export type Hues = ReadonlyMap<number, number>;

/** A lease takes the first hue that is free on its devices and keeps it, also while it is suspended
 *  and while it is remembered as `ended`, when others may have it too; members of a set share one. */
export function assignHues(
  before: Hues,
  leases: ReadonlyMap<number, Lease>,
  ended: readonly Lease[],
): Hues {
  const hues = new Map<number, number>();
  const remembered = new Set(ended.map((lease) => lease.id));
  for (const [id, hue] of before) if (leases.has(id) || remembered.has(id)) hues.set(id, hue);
  const fresh = [...leases.values()]
    .filter((lease) => lease.devices.length > 0 && !hues.has(lease.id))
    .sort((a, b) => (a.started ?? '').localeCompare(b.started ?? '') || a.id - b.id);
  for (const lease of fresh) hues.set(lease.id, hueFor(lease, hues, leases));
  return hues;
}

function hueFor(lease: Lease, hues: Hues, leases: ReadonlyMap<number, Lease>): number {
  const mine = new Set(lease.devices.map((device) => device.uuid));
  const taken = new Set<number>();
  for (const [id, hue] of hues) {
    const other = leases.get(id);
    if (!other) continue;
    if (lease.member && other.member?.set === lease.member.set) return hue;
    if (other.devices.some((device) => mine.has(device.uuid))) taken.add(hue);
  }
  let hue = 0;
  while (taken.has(hue)) ++hue;
  return hue;
}
