// SPDX-License-Identifier: Apache-2.0
// Made by web/tools/wire.mjs from share/openapi.json. Not edited by hand.

export type Request = {
  name?: string | null;
  session?: string | null;
  command?: string | null;
  labels?: Record<string, string> | null;
  priority?: "low" | "normal" | "high" | "urgent" | null;
  share?: "budget" | "exclusive" | "slice" | null;
  vram_bytes?: number | null;
  device_count?: number | null;
  devices?: (number | string)[] | null;
  mixed?: boolean | null;
  eta_ms?: number | null;
  limit_ms?: number | null;
  wait_ms?: number | null;
  ttl_ms?: number | null;
  leftovers?: "wait" | "kill" | "release" | null;
  over_budget?: "fail" | "notify" | "kill" | "suspend" | null;
  may_yield?: boolean | null;
  learned?: boolean | null;
  ancestors?: (number)[] | null;
  checkpoint?: CheckpointWay | null;
  requeue_grace_ms?: number | null;
  shrink?: "never" | "auto" | null;
  while_used?: boolean | null;
  after?: (Predecessor)[] | null;
  not_before?: string | null;
  members?: number | null;
  member?: SetMember | null;
  key?: string | null;
  on_message?: MessageRule | null;
  tier?: string | null;
  retry_max?: number | null;
  retry_after_ms?: number | null;
  on_oom?: "fail" | "grow" | null;
  anchor?: Process | null;
};

export type Process = {
  pid: number;
  start_ticks: number;
};

export type Claim = {
  pid: number;
  start_ticks: number;
  restarts?: number | null;
};

export type Reconnect = {
  restarts?: number | null;
  keep?: boolean | null;
};

export type Pause = {
  for_ms?: number | null;
  reason?: string | null;
};

export type Move = {
  devices?: (number | string)[] | null;
};

export type Requeue = {
  unsaved?: boolean | null;
};

export type Exit = {
  code: number;
  signal?: number | null;
  leftovers?: (Process)[] | null;
  restarts?: number | null;
  kind?: "plain" | "out_of_memory" | "final" | "shutdown" | null;
};

export type Park = {
  parked: boolean;
};

export type Release = {
  kill?: boolean | null;
  detach?: boolean | null;
};

export type Resize = {
  share?: "budget" | "exclusive" | "slice" | null;
  vram_bytes?: number | null;
  wait_ms?: number | null;
};

export type Renew = {
  ttl_ms: number;
};

export type Progress = {
  done: number;
  total?: number | null;
  left_ms?: number | null;
  note?: string | null;
  loss?: number | null;
  phase?: string | null;
};

export type Checkpoint = {
  wait_ms?: number | null;
};

export type Checkpointed = {
  number: number;
  outcome: "saved" | "unconfirmed" | "failed" | "timed_out" | "uncaught" | "gone";
  detail?: string | null;
};

export type CheckpointWay = {
  by: "signal" | "cmd" | "http" | "library";
  grace_ms?: number | null;
  every_ms?: number | null;
};

export type LeaseCheckpoint = {
  by: "signal" | "cmd" | "http" | "library";
  grace_ms: number;
  every_ms: number | null;
  asked: CheckpointAsk | null;
  last: CheckpointEnd | null;
  saved: string | null;
};

export type CheckpointAsk = {
  number: number;
  reason: "asked" | "periodic" | "limit" | "pressure" | "suspend" | "requeue";
  time: string;
};

export type CheckpointEnd = {
  number: number;
  reason: "asked" | "periodic" | "limit" | "pressure" | "suspend" | "requeue";
  time: string;
  outcome: "saved" | "unconfirmed" | "failed" | "timed_out" | "uncaught" | "gone";
  detail: string | null;
};

export type Nothing = {

};

export type Lease = {
  id: number;
  handle: string | null;
  name: string | null;
  user: string | null;
  user_id: number;
  session: string | null;
  state: "waiting" | "held" | "suspended" | "releasing" | "ended";
  flags: ("over_budget" | "parked" | "on_hold" | "revoking" | "degraded" | "unclaimed" | "astray" | "full" | "checkpointing" | "suspending" | "resuming" | "requeuing" | "frozen" | "message")[];
  pressure: "normal" | "warn" | "critical";
  full_in_ms: number | null;
  result: "ok" | "failed" | "killed" | "cancelled" | "limit" | "refused" | "lost" | "over_budget" | "detached" | null;
  restarts: number;
  requeue: "saving" | "asked" | "stopping" | "stopped" | null;
  job: boolean;
  set: SetProgress | null;
  retries: Retries | null;
  exit_code: number | null;
  exit_signal: number | null;
  priority: "low" | "normal" | "high" | "urgent";
  share: "budget" | "exclusive" | "slice";
  device_count: number;
  requested_devices: (number | string)[];
  mixed: boolean;
  leftovers: "wait" | "kill" | "release";
  over_budget: "fail" | "notify" | "kill" | "suspend";
  may_yield: boolean;
  learned: boolean;
  requeue_grace_ms: number | null;
  shrink: "never" | "auto";
  while_used: boolean;
  after: (Predecessor)[];
  not_before: string | null;
  members: number;
  member: SetMember | null;
  key: string | null;
  on_message: MessageRule | null;
  tier: string | null;
  retry_max: number;
  retry_after_ms: number;
  on_oom: "fail" | "grow";
  vram_requested_bytes: number | null;
  vram_granted_bytes: number | null;
  vram_used_bytes: number | null;
  vram_peak_bytes: number | null;
  vram_ledger_bytes: number | null;
  devices: (LeaseDevice)[];
  strays: (Stray)[];
  pid: number | null;
  start_ticks: number | null;
  supervisor_pid: number | null;
  member_pids: (number)[];
  command: string | null;
  labels: Record<string, string>;
  queued: string;
  started: string | null;
  ended: string | null;
  expected_end: string | null;
  expires: string | null;
  turn_ends: string | null;
  idle_since: string | null;
  eta_ms: number | null;
  limit_ms: number | null;
  wait_ms: number | null;
  ttl_ms: number | null;
  waited_ms: number;
  queue_position: number | null;
  check_again_after_ms: number | null;
  checkpoint: LeaseCheckpoint | null;
  measures: (MeasureTaken)[];
  paused: Paused | null;
  on_hold: OnHold | null;
  halted: Halted | null;
  moved_by: string | null;
  moved_by_id: number | null;
  ended_by: string | null;
  ended_by_id: number | null;
  requeued_by: string | null;
  requeued_by_id: number | null;
  left_alone_pids: (number)[];
  progress: LeaseProgress | null;
  messages: (Message)[];
  env?: Record<string, string>;
  refusal?: ErrorBody;
};

export type Paused = {
  since: string;
  until: string | null;
  reason: string | null;
  by: string | null;
  by_id: number | null;
};

export type Halted = {
  reason: "paused" | "yields" | "turn" | "moves" | "measure" | "returns" | "not_returned";
  since: string;
  cause: "lease_critical" | "device_critical" | "unmanaged" | "over_budget" | null;
  for: HaltedFor | null;
  idle_ms: number | null;
};

export type HaltedFor = {
  id: number;
  user: string | null;
  user_id: number;
  name: string | null;
  priority: "low" | "normal" | "high" | "urgent";
};

export type LeaseProgress = {
  done: number;
  total: number | null;
  left_ms: number | null;
  note: string | null;
  loss: number | null;
  phase: string | null;
  time: string;
};

export type MeasureTaken = {
  number: number;
  measure: "notify" | "cleanup" | "checkpoint" | "suspend" | "requeue" | "kill";
  cause: "lease_critical" | "device_critical" | "unmanaged" | "over_budget";
  time: string;
  outcome: "confirmed" | "failed" | "refused" | null;
  detail: string | null;
};

export type LeaseDevice = {
  uuid: string;
  index: number | null;
  vram_granted_bytes: number;
  vram_used_bytes: number | null;
  vram_peak_bytes: number | null;
  vram_ledger_bytes: number | null;
  vram_drift_bytes: number | null;
  refused_allocations: number | null;
  vram_wanted_bytes: number | null;
  gpu_utilization_percent: number | null;
};

export type Stray = {
  pid: number;
  start_ticks: number;
  name: string | null;
  uuid: string;
  index: number | null;
  vram_used_bytes: number | null;
};

export type LeaseList = {
  schema: "berth/ps/v1";
  time: string;
  items: (Lease)[];
  next?: number;
};

export type Queue = {
  schema: "berth/queue/v1";
  time: string;
  items: (Lease)[];
};

export type Device = {
  uuid: string;
  index: number;
  model: string | null;
  pci_bus: string | null;
  simulated: boolean;
  lost: boolean;
  asleep: boolean;
  overcommitted: boolean;
  trouble: string | null;
  vram_total_bytes: number | null;
  vram_used_bytes: number | null;
  vram_unmanaged_bytes: number | null;
  vram_ignored_bytes: number;
  vram_driver_bytes: number | null;
  gpu_utilization_percent: number | null;
  memory_utilization_percent: number | null;
  temperature_celsius: number | null;
  power_milliwatts: number | null;
  power_limit_milliwatts: number | null;
  sm_clock_mhz: number | null;
  memory_clock_mhz: number | null;
  fan_percent: number | null;
  pcie_generation: number | null;
  pcie_lanes: number | null;
  ecc_corrected_errors: number | null;
  ecc_uncorrected_errors: number | null;
  throttle: "none" | "power" | "thermal" | "hardware" | null;
  vram_reserve_bytes: number;
  vram_held_back_bytes: number;
  vram_charged_bytes: number;
  vram_granted_bytes: number;
  vram_grantable_bytes: number;
  vram_owed_bytes: number | null;
  vram_context_bytes: number | null;
  pressure: "normal" | "warn" | "critical";
  sample_age_ms: number | null;
  processes_listed: boolean | null;
  leases: (number)[];
  unmanaged_processes: (UnmanagedProcess)[];
};

export type UnmanagedProcess = {
  pid: number;
  start_ticks: number;
  user: string | null;
  user_id: number;
  name: string | null;
  vram_used_bytes: number | null;
  gpu_utilization_percent: number | null;
  lease: number | null;
};

export type UnmanagedNews = {
  uuid: string;
  index: number;
  pid: number;
  start_ticks: number;
  user: string | null;
  user_id: number;
  name: string | null;
  vram_used_bytes: number | null;
};

export type DeviceList = {
  schema: "berth/devices/v1";
  time: string;
  simulated: boolean;
  items: (Device)[];
};

export type Status = {
  schema: "berth/status/v1";
  time: string;
  simulated: boolean;
  trouble: string | null;
  devices: (Device)[];
  leases: (Lease)[];
  queue: (Lease)[];
};

export type Why = {
  schema: "berth/why/v1";
  id: number;
  state: "waiting" | "held" | "suspended" | "releasing" | "ended";
  reason: "not_waiting" | "memory" | "turn" | "exclusive" | "unmanaged" | "overcommitted" | "driver" | "parked" | "after" | "not_before" | "members" | "on_hold" | "not_reconnected" | "claim" | "passed" | "user_limit" | "stopped" | "probing" | "slices" | "above_limit" | "outlived" | "paused" | "yields" | "moves" | "measure" | "returns" | "not_returned";
  position: number;
  ahead: (number)[];
  ahead_count: number;
  waited_ms: number;
  devices_wanted: number;
  devices_fitting: number;
  shortages: (Shortage)[];
  holders: (Holder)[];
  expected_start: string | null;
  check_again_after_ms: number | null;
  remedies: (Remedy)[];
  limit: LoweredLimit | null;
  retried: (number)[];
  halted: Halted | null;
};

export type Shortage = {
  uuid: string;
  index: number;
  vram_total_bytes: number;
  vram_held_back_bytes: number;
  vram_charged_bytes: number;
  vram_grantable_bytes: number;
  vram_missing_bytes: number;
  vram_unmanaged_bytes: number | null;
};

export type Holder = {
  id: number;
  user: string | null;
  user_id: number;
  name: string | null;
  vram_charged_bytes: number;
  expected_end: string | null;
  has_ended: boolean;
  devices: (HeldThere)[];
};

export type HeldThere = {
  uuid: string;
  vram_charged_bytes: number;
};

export type Remedy = {
  kind: "ask_less" | "pause_lease" | "shrink_lease" | "other_device" | "requeue_lease" | "cancel_lease" | "end_programs" | "release_lease";
  id: number | null;
  vram_bytes: number | null;
  uuid: string | null;
  also: (number)[];
};

export type LoweredLimit = {
  kind: "leases" | "vram" | "device";
  leases_allowed: number | null;
  vram_allowed_bytes: number | null;
  vram_asked_bytes: number | null;
};

export type Fit = {
  schema: "berth/fit/v1";
  fits: boolean;
  devices: (string)[];
  expected_start: string | null;
  check_again_after_ms: number | null;
  vram_largest_bytes: number;
  ahead_count: number;
  vram_learned_bytes: number | null;
  devices_wanted: number;
  devices_fitting: number;
  shortages: (Shortage)[];
  holders: (Holder)[];
  remedies: (Remedy)[];
};

export type Past = {
  schema: "berth/history/v1";
  time: string;
  since: string;
  until: string;
  step_ms: number;
  cut: boolean;
  items: (PastPoint)[];
};

export type PastPoint = {
  time: string;
  of: "device" | "lease" | "process";
  uuid: string;
  index: number | null;
  lease: number | null;
  pid: number | null;
  name: string | null;
  user: string | null;
  user_id: number | null;
  figure: "used" | "granted" | "unmanaged" | "utilization";
  known_ms: number;
  vram_min_bytes: number | null;
  vram_mean_bytes: number | null;
  vram_max_bytes: number | null;
  percent_min: number | null;
  percent_mean: number | null;
  percent_max: number | null;
};

export type Sessions = {
  schema: "berth/sessions/v1";
  time: string;
  since: string;
  until: string;
  items: (PastSession)[];
};

export type Audit = {
  schema: "berth/audit/v1";
  time: string;
  since: string;
  until: string;
  items: (AuditEntry)[];
};

export type AuditEntry = {
  time: string;
  verb: "grant" | "end" | "cancel" | "release" | "detach" | "limit" | "pause" | "resume" | "preempt" | "measure" | "move" | "resize" | "hold" | "unhold" | "edit" | "requeue" | "retry" | "checkpoint" | "renew" | "reload" | "refuse" | "message" | "answer";
  by: string | null;
  by_id: number | null;
  lease: number | null;
  user: string | null;
  user_id: number | null;
  name: string | null;
  reason: string | null;
};

export type PastSession = {
  id: number;
  name: string | null;
  user: string | null;
  user_id: number;
  session: string | null;
  share: "budget" | "exclusive" | "slice";
  device_count: number;
  queued: string;
  started: string;
  ended: string | null;
  result: "ok" | "failed" | "killed" | "cancelled" | "limit" | "refused" | "lost" | "over_budget" | "detached" | null;
  wait_ms: number;
  held_ms: number;
  gpu_ms: number;
  vram_granted_bytes: number;
  vram_peak_bytes: number | null;
  known_ms: number;
  vram_used_mib_seconds: number | null;
  vram_unused_mib_seconds: number | null;
};

export type Version = {
  version: string;
  api: string;
  world: string;
  simulated: boolean;
  pid: number;
};

export type Daemon = {
  schema: "berth/daemon/v1";
  pid: number;
  version: string;
  api: string;
  started: string;
  socket: string;
  http_address: string | null;
  state_dir: string;
  mode: "user" | "system";
  world: string;
  simulated: boolean;
  trouble: string | null;
  probe: {
  state: string;
  sample_age_ms: number | null;
  restarts: number;
  driver_version: string | null;
  trouble: string | null;
};
  counts: {
  waiting: number;
  held: number;
  releasing: number;
  connections: number;
  event_streams: number;
};
  journal: {
  path: string;
  sequence: number;
  records: number;
  safe_mode: boolean;
  trouble: string | null;
};
};

export type Health = {
  status: "ok";
};

export type Alert = {
  schema: "berth/alert/v1";
  rule: string;
  state: "firing" | "cleared";
  subject: AlertSubject;
  text: string;
  value: number | null;
  unit: "bytes" | "share" | "ms" | "celsius" | "watts" | null;
  severity: "info" | "warn" | "critical";
  time: string;
  since: string;
  actions: (AlertAction)[];
};

export type AlertSubject = {
  kind: "device" | "lease" | "daemon";
  id: number | string | null;
  name: string | null;
};

export type AlertAction = {
  verb: "show" | "pause" | "checkpoint";
  lease: number;
  label: string;
};

export type AlertDelivered = {
  channel: string;
  outcome: "delivered" | "retry" | "refused" | "nobody";
  status: number | null;
  reason: string | null;
  time: string;
};

export type AlertStanding = {
  subject: AlertSubject;
  state: "firing" | "pending";
  text: string;
  since: string;
};

export type AlertRule = {
  name: string;
  state: "ok" | "off" | "pending" | "firing";
  since: string | null;
  when: string;
  severity: "info" | "warn" | "critical";
  repeat_ms: number;
  channels: (string)[];
  undelivered: number;
  last_delivery: AlertDelivered | null;
  standing: (AlertStanding)[];
};

export type AlertTest = {
  schema: "berth/alert_test/v1";
  rule: string;
  items: (AlertDelivered)[];
};

export type AlertList = {
  schema: "berth/alerts/v1";
  time: string;
  items: (AlertRule)[];
};

export type Error = {
  error: ErrorBody;
};

export type ErrorBody = {
  code: "invalid" | "never_fits" | "no_device" | "busy" | "queue_full" | "not_found" | "not_yours" | "wrong_state" | "would_wait_on_itself" | "would_wait_for_each_other" | "inside_lease" | "disk_full" | "safe_mode" | "not_supported" | "ambiguous" | "not_moved" | "not_requeued" | "running" | "exists" | "bad_request" | "unknown_field" | "too_large" | "timeout" | "method_not_allowed" | "wrong_world" | "wrong_process" | "version" | "too_many" | "too_fast" | "too_many_connections" | "internal" | "stopping";
  message: string;
  cure: string | null;
  retry_after_ms?: number;
  lease?: number;
};

export type Hold = {
  off?: boolean | null;
};

export type OnHold = {
  since: string;
  by: string | null;
  by_id: number | null;
  reason: string | null;
};

export type Predecessor = {
  lease: number;
  ends: "any" | "ok" | "failed";
};

export type SetMember = {
  set: number;
  number: number;
};

export type SetProgress = {
  begun: number;
  ended: number;
  failed: number;
};

export type Retries = {
  left: number;
  grown: boolean;
  failed: {
  code: number;
  signal: number;
} | null;
  next: Retry | null;
};

export type Retry = {
  not_before: string;
  vram_bytes: number | null;
};

export type SendMessage = {
  text: string;
  wait_ms?: number | null;
};

export type Agree = {
  number?: number | null;
  pause_ms?: number | null;
};

export type Refuse = {
  number?: number | null;
  why?: string | null;
};

export type MessageRule = {
  answer: "none" | "pause" | "refuse";
  for_ms?: number | null;
  user_ids?: (number)[] | null;
};

export type Message = {
  number: number;
  from: string | null;
  from_id: number | null;
  for: number | null;
  text: string | null;
  time: string;
  answer: "agreed" | "refused" | "lapsed" | null;
  why: string | null;
  by: string | null;
  by_id: number | null;
  answered: string | null;
};

export type Edit = {
  name?: string | null;
  priority?: "low" | "normal" | "high" | "urgent" | null;
  share?: "budget" | "exclusive" | "slice" | null;
  vram_bytes?: number | null;
  eta_ms?: number | null;
  limit_ms?: number | null;
  not_before?: string | null;
  command?: string | null;
};

export type LiveViewer = {
  user: string | null;
  user_id: number;
  may_act: boolean;
  admin: boolean;
};

export type LiveSnapshot = {
  schema: "berth/live/v1";
  epoch: string;
  sequence: number;
  host: string | null;
  viewer: LiveViewer;
  status: Status;
  alerts: AlertList;
  events: (AuditEntry)[];
};

export type LiveChange = {
  sequence: number;
  time: string;
  trouble?: string;
  devices?: (Device)[];
  leases?: (Lease)[];
  gone?: (number)[];
  queue?: (number)[];
  alerts?: AlertList;
  events?: (AuditEntry)[];
};

export type OpenDashboard = {
  read_only?: boolean | null;
  revoke?: boolean | null;
};

export type DashboardCode = {
  address: string | null;
  code: string | null;
  expires: string | null;
  revoked: number;
};

export type ProgressPoint = {
  time: string;
  done: number;
  loss: number | null;
  phase: string | null;
};

export type ProgressCourse = {
  schema: "berth/progress/v1";
  items: (ProgressPoint)[];
};

export type JobLog = {
  schema: "berth/log/v1";
  job: string | null;
  attempt: number;
  attempts: number;
  over: boolean;
  trouble: string | null;
  text: string;
  whole: boolean;
};

export type DoctorFinding = {
  group: string;
  check: string;
  level: "ok" | "warn" | "fail" | "skip";
  fact: string;
  consequence: string | null;
  cure: string | null;
};

export type DoctorReport = {
  schema: "berth/doctor/v1";
  time: string;
  items: (DoctorFinding)[];
};

