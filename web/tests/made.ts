// SPDX-License-Identifier: Apache-2.0
// Answers of a daemon, as tests want them.
import { emptyModel, step, type Model } from '../src/live.ts';
import type {
  AlertRule,
  AuditEntry,
  Device,
  Lease,
  LeaseDevice,
  LiveSnapshot,
  LiveViewer,
  Why,
} from '../src/wire.ts';

export const kGiB = 1024 ** 3;
export const kNow = Date.parse('2026-03-01T14:02:31.000Z');

export function device(index: number, fields: Partial<Device> = {}): Device {
  return {
    uuid: `GPU-${index}`,
    index,
    model: 'RTX 5080',
    pci_bus: null,
    simulated: true,
    lost: false,
    asleep: false,
    overcommitted: false,
    trouble: null,
    vram_total_bytes: 16 * kGiB,
    vram_used_bytes: 0,
    vram_unmanaged_bytes: 0,
    vram_ignored_bytes: 0,
    vram_driver_bytes: 0,
    gpu_utilization_percent: null,
    memory_utilization_percent: null,
    temperature_celsius: null,
    power_milliwatts: null,
    power_limit_milliwatts: null,
    sm_clock_mhz: null,
    memory_clock_mhz: null,
    fan_percent: null,
    pcie_generation: null,
    pcie_lanes: null,
    ecc_corrected_errors: null,
    ecc_uncorrected_errors: null,
    throttle: null,
    vram_reserve_bytes: kGiB,
    vram_held_back_bytes: kGiB,
    vram_charged_bytes: 0,
    vram_granted_bytes: 0,
    vram_grantable_bytes: 15 * kGiB,
    vram_owed_bytes: 0,
    vram_context_bytes: null,
    pressure: 'normal',
    sample_age_ms: 10,
    processes_listed: true,
    leases: [],
    unmanaged_processes: [],
    ...fields,
  };
}

/** On GPU `index`, granted and used in GiB; null: not known. */
export function part(index: number, granted: number, used: number | null): LeaseDevice {
  return {
    uuid: `GPU-${index}`,
    index,
    vram_granted_bytes: granted * kGiB,
    vram_used_bytes: used === null ? null : used * kGiB,
    vram_peak_bytes: used === null ? null : used * kGiB,
    vram_ledger_bytes: null,
    vram_drift_bytes: null,
    refused_allocations: null,
    vram_wanted_bytes: null,
    gpu_utilization_percent: null,
  };
}

export function lease(id: number, fields: Partial<Lease> = {}): Lease {
  const parts = fields.devices ?? [];
  const sum = (of: (one: LeaseDevice) => number | null) =>
    parts.length === 0 || parts.some((one) => of(one) === null)
      ? null
      : parts.reduce((total, one) => total + (of(one) ?? 0), 0);
  return {
    id,
    handle: null,
    name: `job-${id}`,
    user: 'ana',
    user_id: 1000,
    session: null,
    state: 'held',
    flags: [],
    pressure: 'normal',
    full_in_ms: null,
    result: null,
    restarts: 0,
    requeue: null,
    job: false,
    set: null,
    retries: null,
    exit_code: null,
    exit_signal: null,
    priority: 'normal',
    share: 'budget',
    device_count: 1,
    requested_devices: [],
    mixed: false,
    leftovers: 'wait',
    over_budget: 'fail',
    may_yield: false,
    learned: false,
    requeue_grace_ms: null,
    shrink: 'never',
    while_used: false,
    after: [],
    not_before: null,
    members: 0,
    member: null,
    key: null,
    on_message: null,
    tier: null,
    retry_max: 0,
    retry_after_ms: 0,
    on_oom: 'fail',
    vram_requested_bytes: 8 * kGiB,
    vram_granted_bytes: sum((one) => one.vram_granted_bytes),
    vram_used_bytes: sum((one) => one.vram_used_bytes),
    vram_peak_bytes: sum((one) => one.vram_peak_bytes),
    vram_ledger_bytes: null,
    devices: [],
    strays: [],
    pid: 4711,
    start_ticks: 1,
    supervisor_pid: null,
    member_pids: [],
    command: 'python train.py',
    labels: {},
    queued: '2026-03-01T13:00:00.000Z',
    started: '2026-03-01T13:00:00.000Z',
    ended: null,
    expected_end: null,
    expires: null,
    turn_ends: null,
    idle_since: null,
    eta_ms: null,
    limit_ms: null,
    wait_ms: null,
    ttl_ms: null,
    waited_ms: 0,
    queue_position: null,
    check_again_after_ms: null,
    checkpoint: null,
    measures: [],
    paused: null,
    on_hold: null,
    halted: null,
    moved_by: null,
    moved_by_id: null,
    ended_by: null,
    ended_by_id: null,
    requeued_by: null,
    requeued_by_id: null,
    left_alone_pids: [],
    progress: null,
    messages: [],
    ...fields,
  };
}

export function waiting(id: number, fields: Partial<Lease> = {}): Lease {
  return lease(id, { state: 'waiting', started: null, pid: null, queue_position: 1, ...fields });
}

export function why(id: number, fields: Partial<Why> = {}): Why {
  return {
    schema: 'berth/why/v1',
    id,
    state: 'waiting',
    reason: 'memory',
    position: 1,
    ahead: [],
    ahead_count: 0,
    waited_ms: 0,
    devices_wanted: 1,
    devices_fitting: 0,
    shortages: [],
    holders: [],
    expected_start: null,
    check_again_after_ms: null,
    remedies: [],
    limit: null,
    retried: [],
    halted: null,
    ...fields,
  };
}

/** What there is, before it is written as a daemon does. */
export type State = {
  epoch: string;
  sequence: number;
  time: string;
  viewer: LiveViewer;
  trouble: string | null;
  devices: Device[];
  /** Those that wait, too. */
  leases: Lease[];
  queue: number[];
  alerts: AlertRule[];
  events: AuditEntry[];
};

export function state(fields: Partial<State> = {}): State {
  return {
    epoch: 'e1',
    sequence: 1,
    time: new Date(kNow).toISOString(),
    viewer: { user: 'ana', user_id: 1000, may_act: true, admin: false },
    trouble: null,
    devices: [device(0)],
    leases: [],
    queue: [],
    alerts: [],
    events: [],
    ...fields,
  };
}

export function snapshot(fields: Partial<State> = {}): LiveSnapshot {
  const all = state(fields);
  const { time } = all;
  return {
    schema: 'berth/live/v1',
    epoch: all.epoch,
    sequence: all.sequence,
    host: 'workbench',
    viewer: all.viewer,
    status: {
      schema: 'berth/status/v1',
      time,
      simulated: true,
      trouble: all.trouble,
      devices: all.devices,
      leases: all.leases.filter((lease) => lease.state !== 'waiting'),
      queue: all.queue.flatMap((id) => all.leases.filter((lease) => lease.id === id)),
    },
    alerts: { schema: 'berth/alerts/v1', time, items: all.alerts },
    events: all.events,
  };
}

/** What a page knows after that snapshot. */
export function model(fields: Partial<State> = {}): Model {
  return after(emptyModel(kNow), { kind: 'snapshot', at: kNow, snapshot: snapshot(fields) });
}

export function after(before: Model, news: Parameters<typeof step>[1]): Model {
  const next = step(before, news);
  if (next === null) throw new Error('the news does not follow');
  return next;
}
