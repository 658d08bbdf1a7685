// SPDX-License-Identifier: Apache-2.0
// What the page knows: the daemon's snapshot, and what changed since. Pure: step(model, news).
import type {
  AlertRule,
  AuditEntry,
  Device,
  Lease,
  LiveChange,
  LiveSnapshot,
  LiveViewer,
  Why,
} from './wire.ts';
import { timeOf } from './format.ts';
import { assignHues, type Hues } from './hues.ts';

export type Connection = 'connecting' | 'live' | 'lost' | 'expired';

export type Model = {
  connection: Connection;
  /** When that began, by the clock of the browser. */
  connectionSince: number;
  epoch: string;
  sequence: number;
  /** The daemon's clock at its last message, in ms since 1970; 0 before the first. */
  time: number;
  /** What the clock of the browser showed then. */
  received: number;
  host: string | null;
  viewer: LiveViewer | null;
  simulated: boolean;
  trouble: string | null;
  devices: readonly Device[];
  /** All that are live, those that wait too. */
  leases: ReadonlyMap<number, Lease>;
  /** Those that wait, next first. */
  queue: readonly number[];
  /** Those that ended while the page was open, the last first. */
  ended: readonly Lease[];
  alerts: readonly AlertRule[];
  /** The newest first. */
  events: readonly AuditEntry[];
  hues: Hues;
  /** Why those wait that wait first, as last asked. */
  reasons: ReadonlyMap<number, Why>;
};

export type News =
  | { kind: 'snapshot'; at: number; snapshot: LiveSnapshot }
  | { kind: 'change'; at: number; change: LiveChange }
  | { kind: 'reasons'; reasons: readonly Why[] }
  | { kind: 'heartbeat'; at: number; time: string }
  | { kind: 'lost'; at: number }
  | { kind: 'expired'; at: number };

/** So many are kept, so that a page that stays open does not grow. */
export const kEventsKept = 200;
export const kEndedKept = 50;

export function emptyModel(now: number): Model {
  return {
    connection: 'connecting',
    connectionSince: now,
    epoch: '',
    sequence: 0,
    time: 0,
    received: now,
    host: null,
    viewer: null,
    simulated: false,
    trouble: null,
    devices: [],
    leases: new Map(),
    queue: [],
    ended: [],
    alerts: [],
    events: [],
    hues: new Map(),
    reasons: new Map(),
  };
}

/** What is known after the news. A change that does not follow on what is known gives null: the
 *  stream has to be opened anew. */
export function step(model: Model, news: News): Model | null {
  switch (news.kind) {
    case 'snapshot':
      return afterSnapshot(model, news.snapshot, news.at);
    case 'change':
      if (news.change.sequence <= model.sequence) return model;
      if (news.change.sequence !== model.sequence + 1) return null;
      return afterChange(model, news.change, news.at);
    case 'reasons':
      return { ...model, reasons: new Map(news.reasons.map((why) => [why.id, why])) };
    case 'heartbeat':
      return { ...model, time: timeOf(news.time) ?? model.time, received: news.at };
    case 'lost':
      return model.connection === 'lost' || model.connection === 'expired'
        ? model
        : { ...model, connection: 'lost', connectionSince: news.at };
    case 'expired':
      return { ...model, connection: 'expired', connectionSince: news.at };
  }
}

/** The daemon's clock now, by how much time has passed here. Stands still while disconnected. */
export function timeNow(model: Model, now: number): number {
  if (model.connection !== 'live') return model.time;
  return model.time + Math.max(0, now - model.received);
}

function afterSnapshot(model: Model, snapshot: LiveSnapshot, at: number): Model {
  const { status } = snapshot;
  const leases = new Map([...status.leases, ...status.queue].map((lease) => [lease.id, lease]));
  // Numbers of another run of the daemon say nothing of these messages.
  const same = model.epoch === snapshot.epoch;
  const ended = same ? model.ended : [];
  return {
    connection: 'live',
    connectionSince: model.connection === 'live' ? model.connectionSince : at,
    epoch: snapshot.epoch,
    sequence: snapshot.sequence,
    time: timeOf(status.time) ?? model.time,
    received: at,
    host: snapshot.host,
    viewer: snapshot.viewer,
    simulated: status.simulated,
    trouble: status.trouble,
    devices: status.devices,
    leases,
    queue: status.queue.map((lease) => lease.id),
    ended,
    alerts: snapshot.alerts.items,
    events: snapshot.events.slice(0, kEventsKept),
    hues: assignHues(same ? model.hues : new Map(), leases, ended),
    reasons: same ? model.reasons : new Map(),
  };
}

/** What is known as a snapshot, for a page that comes later; null while it may be old. */
export function snapshotOf(model: Model): LiveSnapshot | null {
  if (model.viewer === null || model.connection !== 'live') return null;
  const time = new Date(model.time).toISOString();
  const waits = new Set(model.queue);
  return {
    schema: 'berth/live/v1',
    epoch: model.epoch,
    sequence: model.sequence,
    host: model.host,
    viewer: model.viewer,
    status: {
      schema: 'berth/status/v1',
      time,
      simulated: model.simulated,
      trouble: model.trouble,
      devices: [...model.devices],
      leases: [...model.leases.values()].filter((lease) => !waits.has(lease.id)),
      queue: model.queue.flatMap((id) => model.leases.get(id) ?? []),
    },
    alerts: { schema: 'berth/alerts/v1', time, items: [...model.alerts] },
    events: [...model.events],
  };
}

function afterChange(model: Model, change: LiveChange, at: number): Model {
  const changed = change.leases ?? [];
  const gone = change.gone ?? [];
  let leases = model.leases;
  let ended = model.ended;
  if (changed.length > 0 || gone.length > 0) {
    const now = new Map(model.leases);
    const left: Lease[] = [];
    for (const lease of changed) {
      if (lease.state === 'ended') left.push(lease);
      else now.set(lease.id, lease);
    }
    for (const id of gone) now.delete(id);
    for (const lease of left) now.delete(lease.id);
    leases = now;
    if (left.length > 0) ended = [...left.reverse(), ...model.ended].slice(0, kEndedKept);
  }
  return {
    ...model,
    connection: 'live',
    connectionSince: model.connection === 'live' ? model.connectionSince : at,
    sequence: change.sequence,
    time: timeOf(change.time) ?? model.time,
    received: at,
    trouble: change.trouble === undefined ? model.trouble : change.trouble || null,
    devices: change.devices ? merged(model.devices, change.devices) : model.devices,
    leases,
    queue: change.queue ?? model.queue,
    ended,
    alerts: change.alerts?.items ?? model.alerts,
    events: change.events
      ? [...change.events, ...model.events].slice(0, kEventsKept)
      : model.events,
    hues: leases === model.leases ? model.hues : assignHues(model.hues, leases, ended),
  };
}

function merged(known: readonly Device[], changed: readonly Device[]): Device[] {
  const byUuid = new Map(known.map((device) => [device.uuid, device]));
  for (const device of changed) byUuid.set(device.uuid, device);
  return [...byUuid.values()].sort((a, b) => a.index - b.index);
}
