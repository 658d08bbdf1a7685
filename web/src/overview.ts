// SPDX-License-Identifier: Apache-2.0
// What the page shows of what it knows: figures that add up, rows and their order. Pure.
import type { Device, Lease, LeaseDevice, LiveViewer } from './wire.ts';
import type { Model } from './live.ts';
import { timeOf } from './format.ts';

export type Totals = {
  devices: number;
  capacity: number;
  grantable: number;
  granted: number;
  held: number;
  suspended: number;
  waiting: number;
};

/** What waits for memory, next first: a set waits for its members. */
export function requestsOf(model: Model): Lease[] {
  return model.queue
    .flatMap((id) => model.leases.get(id) ?? [])
    .filter((lease) => lease.set === null);
}

/** A device that does not answer grants nothing, and counts to the capacity all the same. */
export function totalsOf(model: Model): Totals {
  const totals: Totals = {
    devices: model.devices.length,
    capacity: 0,
    grantable: 0,
    granted: 0,
    held: 0,
    suspended: 0,
    waiting: requestsOf(model).length,
  };
  for (const device of model.devices) {
    totals.capacity += device.vram_total_bytes ?? 0;
    totals.granted += device.vram_granted_bytes;
    totals.grantable += isGone(device) ? 0 : device.vram_grantable_bytes;
  }
  for (const lease of model.leases.values()) {
    if (lease.state === 'held') ++totals.held;
    if (lease.state === 'suspended') ++totals.suspended;
  }
  return totals;
}

/** Lost, or without an answer: its figures are not known. */
export function isGone(device: Device): boolean {
  return device.lost || (device.vram_used_bytes === null && !device.asleep);
}

/** Of a bar: how many bytes it stands for, and what they are. */
export type Segment =
  | { kind: 'lease'; lease: Lease; part: LeaseDevice; bytes: number; used: number | null }
  | { kind: 'unmanaged' | 'held_back' | 'free'; bytes: number };

/** The bar of a device: leases in the order of their grant, then what is kept from them, then what
 *  is free to grant. The bytes add up to the device unless it is charged above what there is. */
export function segmentsOf(device: Device, leases: ReadonlyMap<number, Lease>): Segment[] {
  const segments: Segment[] = [];
  for (const id of device.leases) {
    const lease = leases.get(id);
    const part = lease?.devices.find((one) => one.uuid === device.uuid);
    if (!lease || !part) continue;
    const used = isGone(device) ? null : part.vram_used_bytes;
    const bytes =
      lease.state === 'held'
        ? Math.max(part.vram_granted_bytes, used ?? 0)
        : (used ?? part.vram_granted_bytes);
    if (bytes > 0) segments.push({ kind: 'lease', lease, part, bytes, used });
  }
  const unmanaged = unmanagedPartOf(device);
  segments.push({ kind: 'unmanaged', bytes: unmanaged });
  segments.push({ kind: 'held_back', bytes: device.vram_held_back_bytes - unmanaged });
  segments.push({ kind: 'free', bytes: device.vram_grantable_bytes });
  return segments.filter((segment) => segment.bytes > 0);
}

/** Of what is held back, the part that processes without a lease use. */
export function unmanagedPartOf(device: Device): number {
  const unmanaged = (device.vram_unmanaged_bytes ?? 0) - device.vram_ignored_bytes;
  return Math.max(0, Math.min(unmanaged, device.vram_held_back_bytes));
}

/** What leases use of a device; null where that of one is not known. */
export function usedByLeases(segments: readonly Segment[]): number | null {
  let sum = 0;
  for (const segment of segments) {
    if (segment.kind !== 'lease') continue;
    if (segment.used === null) return null;
    sum += segment.used;
  }
  return sum;
}

export type Sign =
  'held' | 'idle' | 'saving' | 'suspended' | 'frozen' | 'moving' | 'waiting' | 'full' | 'ending';

export type State = {
  sign: Sign;
  tone: 'plain' | 'warn' | 'critical';
  /** Since when, of what lasts. */
  since: number | null;
};

/** What is to be said first of a lease; idle is a warning if others wait. */
export function stateOf(lease: Lease, othersWait: boolean): State {
  const is = (flag: Lease['flags'][number]) => lease.flags.includes(flag);
  const state = (
    sign: Sign,
    since: string | null = null,
    tone: State['tone'] = 'plain',
  ): State => ({
    sign,
    tone,
    since: timeOf(since),
  });
  if (lease.state === 'waiting') return state('waiting', lease.queued);
  if (lease.state === 'releasing' || is('revoking')) return state('ending');
  if (is('suspending') || is('resuming') || is('requeuing')) return state('moving');
  if (lease.state === 'suspended') return state('suspended', lease.halted?.since ?? null);
  if (is('frozen')) return state('frozen', lease.halted?.since ?? null);
  if (is('checkpointing')) return state('saving', lease.checkpoint?.asked?.time ?? null);
  if (is('full')) return state('full', null, 'warn');
  if (is('over_budget')) return state('held', null, 'critical');
  if (lease.idle_since) return state('idle', lease.idle_since, othersWait ? 'warn' : 'plain');
  return state('held');
}

/** Leases that do not wait, by where they are: the devices in their order, then host memory. */
export type Group = { devices: number[]; inHost: boolean; leases: Lease[] };

export type Filter = 'all' | 'mine' | 'ended';
export type SortKey = 'id' | 'session' | 'used' | 'age' | 'left';
export type Sort = { key: SortKey; descending: boolean };

/** `search`: a part of the session, the command or the number; empty: all. */
export function groupsOf(model: Model, filter: Filter, sort: Sort, search = ''): Group[] {
  const groups = new Map<string, Group>();
  for (const device of model.devices) {
    groups.set(String(device.index), { devices: [device.index], inHost: false, leases: [] });
  }
  const several = new Map<string, Group>();
  const host: Group = { devices: [], inHost: true, leases: [] };
  for (const lease of model.leases.values()) {
    if (lease.state === 'waiting') continue;
    if (filter === 'mine' && !isMine(lease, model.viewer)) continue;
    if (!matches(lease, search)) continue;
    if (lease.state === 'suspended') {
      host.leases.push(lease);
      continue;
    }
    const indices = lease.devices.map((part) => part.index ?? -1);
    const key = indices.join();
    const group = groups.get(key) ??
      several.get(key) ?? { devices: indices, inHost: false, leases: [] };
    if (!groups.has(key)) several.set(key, group);
    group.leases.push(lease);
  }
  const all = [...groups.values(), ...several.values(), host];
  for (const group of all) group.leases.sort((a, b) => compared(a, b, sort));
  return all.filter((group) => group.leases.length > 0);
}

function matches(lease: Lease, search: string): boolean {
  const text = `${numberOf(lease)} ${sessionOf(lease)} ${lease.command ?? ''}`.toLowerCase();
  return text.includes(search.trim().toLowerCase());
}

/** The groups with their rows where they stood before, and new ones behind: nothing moves away under
 *  a pointer. */
export function keptInPlace(groups: readonly Group[], before: readonly number[]): Group[] {
  const place = new Map(before.map((id, i) => [id, i]));
  const of = (lease: Lease) => place.get(lease.id) ?? before.length + lease.id;
  return groups.map((group) => ({
    ...group,
    leases: [...group.leases].sort((a, b) => of(a) - of(b)),
  }));
}

function compared(a: Lease, b: Lease, sort: Sort): number {
  const sign = sort.descending ? -1 : 1;
  // What is not known stands last either way.
  const byNumber = (x: number | null, y: number | null) =>
    x === null || y === null ? Number(x === null) - Number(y === null) : sign * (x - y);
  const order = {
    id: () => sign * (a.id - b.id),
    session: () => sign * sessionOf(a).localeCompare(sessionOf(b)),
    used: () => byNumber(a.vram_used_bytes, b.vram_used_bytes),
    age: () => byNumber(timeOf(b.started), timeOf(a.started)),
    left: () => byNumber(timeOf(a.expected_end), timeOf(b.expected_end)),
  }[sort.key]();
  return order || a.id - b.id;
}

/** "ana/notebook", "ana" of a lease without a name. */
export function sessionOf(lease: {
  user: string | null;
  user_id: number;
  name: string | null;
}): string {
  const user = lease.user ?? `uid ${lease.user_id}`;
  return lease.name ? `${user}/${lease.name}` : user;
}

/** "17.3" of the third job of set 17, else its number. */
export function numberOf(lease: Lease): string {
  return lease.member ? `${lease.member.set}.${lease.member.number}` : String(lease.id);
}

export function isMine(lease: Lease, viewer: LiveViewer | null): boolean {
  return viewer !== null && lease.user_id === viewer.user_id;
}

/** Whether the viewer may pause it, end it and so on. */
export function mayChange(lease: Lease, viewer: LiveViewer | null): boolean {
  return viewer !== null && viewer.may_act && (viewer.admin || isMine(lease, viewer));
}

export type SetRow = {
  set: Lease;
  /** Of each member that is known here, by its number; absent: it has ended, or has not begun. */
  members: ReadonlyMap<number, Lease>;
  ok: number;
  failed: number;
  running: number;
  waiting: number;
};

export function setsOf(model: Model): SetRow[] {
  const rows: SetRow[] = [];
  for (const set of model.leases.values()) {
    if (!set.set) continue;
    const members = new Map<number, Lease>();
    for (const lease of model.leases.values()) {
      if (lease.member?.set === set.id) members.set(lease.member.number, lease);
    }
    const running = [...members.values()].filter((lease) => lease.state !== 'waiting').length;
    rows.push({
      set,
      members,
      ok: set.set.ended - set.set.failed,
      failed: set.set.failed,
      running,
      waiting: set.members - set.set.ended - running,
    });
  }
  return rows.sort((a, b) => a.set.id - b.set.id);
}
