// SPDX-License-Identifier: Apache-2.0
// All English of the page. Pure functions of figures; names and words of others are shown as text.
import type { Device, DoctorFinding, JobLog, Lease, LiveViewer, Remedy, Why } from './wire.ts';
import { lossText } from './training.ts';
import type { Connection } from './live.ts';
import { numberOf, sessionOf, type State, type Totals } from './overview.ts';
import {
  clock,
  clockWithSeconds,
  counted,
  dash,
  duration,
  gib,
  joined,
  size,
  timeOf,
} from './format.ts';

export const page = {
  name: 'Berth',
  skip: 'Skip to the content',
  pages: 'Pages',
  overview: 'Overview',
  history: 'History',
  alerts: 'Alerts',
  theme: 'Light or dark',
  stop: 'Stop updates',
  goOn: 'Show updates',
  time: 'Time shown',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  details: 'Details',
};

export function title(connection: Connection, totals: Totals): string {
  if (connection !== 'live') return 'Berth — not connected';
  const wait = totals.waiting > 0 ? `, ${totals.waiting} wait` : '';
  return `Berth — ${gib(totals.grantable)} GiB free${wait}`;
}

export function headline(totals: Totals, trouble: string | null): string {
  if (totals.devices === 0) return trouble ? 'No GPU' : 'No GPU yet';
  return `${gib(totals.grantable)} GiB free to grant`;
}

export function summary(
  totals: Totals,
  gone: readonly Device[],
  firstStart: number | null,
  now: number,
): string {
  const gpus = counted(totals.devices, 'GPU');
  const silent =
    gone.length > 0
      ? `${joined(gone.map((device) => `GPU ${device.index}`))} ${gone.length === 1 ? 'does' : 'do'} not answer. `
      : '';
  if (totals.held === 0 && totals.suspended === 0 && totals.waiting === 0) {
    return `${silent}No lease, nobody waits. ${gpus}.`;
  }
  const hold = totals.held === 1 ? 'holds' : 'hold';
  const held =
    totals.held === 0
      ? 'No lease holds memory.'
      : `${counted(totals.held, 'lease')} ${hold} ${gib(totals.granted)} of ${gib(totals.capacity)} GiB on ${gpus}.`;
  const suspended = totals.suspended > 0 ? ` ${totals.suspended} suspended.` : '';
  return silent + held + suspended + waitingText(totals.waiting, firstStart, now);
}

function waitingText(waiting: number, firstStart: number | null, now: number): string {
  if (waiting === 0) return ' Nobody waits.';
  const text = ` ${counted(waiting, 'request')} ${waiting === 1 ? 'waits' : 'wait'}`;
  if (firstStart === null) return `${text}.`;
  return `${text}; the first starts ${inAbout(firstStart, now)}.`;
}

/** "in about 14 min", "any moment" */
export function inAbout(when: number, now: number): string {
  return when - now < 1000 ? 'any moment' : `in about ${duration(when - now)}`;
}

export const connection = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Not connected',
  expired: 'Not connected',
  stopped: 'Stopped',
};

/** In two parts, what matters first. */
export function lostText(since: number, shownOf: number, nextTry: number): [string, string] {
  const seen = shownOf > 0 ? `What you see is from ${clockWithSeconds(shownOf)}. ` : '';
  const seconds = Math.ceil(nextTry / 1000);
  const trying = seconds > 0 ? `Trying again in ${duration(seconds * 1000)}.` : 'Trying again now.';
  return [
    `No connection to the daemon since ${clockWithSeconds(since)}.`,
    `${seen}Leases and jobs go on without this page. ${trying}`,
  ];
}
export const tryNow = 'Try now';
export const signIn = {
  over: 'This session is over',
  how: 'Run `berth dashboard` on this machine. It opens the page, and prints a code for a browser that it cannot open. A code is for one use, within 60 s.',
  code: 'Code',
  open: 'Open',
};
export const readOnly = 'You may look. To act, open the link that `berth dashboard` prints.';

export function mayDo(viewer: LiveViewer): string {
  if (!viewer.may_act) return 'may look';
  return viewer.admin ? 'can act on all leases' : 'can act on own leases';
}

export const device = {
  free: 'Free to grant',
  used: 'Used by leases',
  unused: 'Granted, not used',
  heldBack: 'Held back',
  unmanaged: 'Unmanaged part',
  freeLabel: 'free to grant',
  freeShort: 'free',
  memory: 'Memory by lease, GiB',
  granted: 'granted + held back',
  busy: 'busy, %',
  busyUnknown: 'busy: not known',
  others: 'others',
  noData: 'no data',
  asleep: 'asleep',
  simulated: 'simulated',
  granting: 'granted',
  overcommitted:
    'Overcommitted: leases use more than they were granted. Nothing is granted here until that has passed.',
};

export function deviceName(index: number): string {
  return `GPU ${index}`;
}

export function goneText(device: Device, leases: number): string {
  const kept =
    leases === 0
      ? ''
      : leases === 1
        ? 'Its lease is kept and its program runs on. '
        : `Its ${leases} leases are kept and their programs run on. `;
  const why = device.trouble ? ` ${sentence(device.trouble)}` : '';
  return `${kept}Nothing more is granted here until the driver answers. What is used is not known.${why}`;
}
export const noAnswer = 'no answer';

export function segmentLabel(lease: Lease, used: number | null, granted: number): string {
  return `Lease ${numberOf(lease)}, ${sessionOf(lease)}, uses ${size(used)} of ${size(granted)}`;
}

export function chartLabel(index: number, range: string): string {
  return `Memory of GPU ${index}, the last ${range}. Arrow keys move the cursor; T opens a table.`;
}

/** What stands in the head of a chart. */
export function chartReading(
  when: string,
  used: number | null,
  granted: number | null,
  busy: number | null,
): string {
  if (used === null && granted === null) return `${when}: not known`;
  const share = busy === null ? '' : `, ${busy} % busy`;
  return `${when}: used ${gib(used)}, granted ${gib(granted)}${share}`;
}
export const now = 'now';

/** Of what was known then. */
export function asOf(time: number): string {
  return `at ${clock(time)}`;
}

/** Figures of a device's head, each with its unit: as far as they are known. */
export function vitals(device: Device): [string, string][] {
  const { gpu_utilization_percent: busy, temperature_celsius: celsius } = device;
  const watts = (milliwatts: number | null) => String(Math.round((milliwatts ?? 0) / 1000));
  const known: [string, string][] = [];
  if (busy !== null) known.push([String(busy), '% busy']);
  if (celsius !== null) known.push([String(celsius), '°C']);
  if (device.power_milliwatts !== null) {
    const limit = device.power_limit_milliwatts;
    known.push([watts(device.power_milliwatts), limit === null ? 'W' : `of ${watts(limit)} W`]);
  }
  return known;
}
/** What holds a device's clocks down. */
export const throttled = {
  power: 'held down by its power limit',
  thermal: 'held down by its heat',
  hardware: 'held down by its board',
};
export const table = 'Table';

export const leases = {
  title: 'Leases',
  all: 'All',
  mine: 'Mine',
  ended: 'Ended',
  search: 'Find',
  id: 'ID',
  session: 'Session',
  state: 'State',
  memory: 'Used / peak / granted, GiB',
  age: 'Age',
  left: 'Left',
  inHost: 'In host memory',
  noneOfYours: 'You hold no lease.',
  noneFound: 'No lease has that in its name, user or command.',
  actions: 'Actions',
};

export function leasesCount(held: number, suspended: number): string {
  return suspended > 0 ? `${held} held, ${suspended} suspended` : `${held} held`;
}

export function groupName(devices: readonly number[], inHost: boolean): string {
  if (inHost) return leases.inHost;
  return `GPU ${joined(devices.map((index) => (index < 0 ? '?' : String(index))))}`;
}

export function unmanagedOn(device: Device): string {
  const names = device.unmanaged_processes
    .filter((process) => process.lease === null)
    .slice(0, 3)
    .map((process) => `${process.name ?? `pid ${process.pid}`} ${size(process.vram_used_bytes)}`);
  return names.length > 0 ? `unmanaged: ${joined(names)}` : '';
}

const kSigns: Record<State['sign'], string> = {
  held: 'held',
  idle: 'idle',
  saving: 'saving',
  suspended: 'suspended',
  frozen: 'frozen',
  moving: 'moving',
  waiting: 'waits',
  full: 'budget full',
  ending: 'ending',
};

export function stateWord(lease: Lease, state: State): string {
  if (lease.flags.includes('over_budget') && state.sign === 'held') return 'over budget';
  if (state.sign === 'moving') {
    if (lease.flags.includes('suspending')) return 'moving to host memory';
    if (lease.flags.includes('resuming')) return 'coming back';
    return 'being requeued';
  }
  return kSigns[state.sign];
}

/** What stands behind the state: for how long, by whom. */
export function stateNote(lease: Lease, state: State, now: number): string {
  if (state.sign === 'idle' && state.since !== null) return duration(now - state.since);
  if (state.sign === 'suspended' || state.sign === 'frozen') {
    if (lease.paused) return lease.paused.by ? `by ${lease.paused.by}` : '';
    return haltReason(lease);
  }
  return '';
}

function haltReason(lease: Lease): string {
  switch (lease.halted?.reason) {
    case 'yields':
      return lease.halted.for ? `makes room for ${lease.halted.for.id}` : 'makes room';
    case 'turn':
      return 'between turns';
    case 'moves':
      return 'moves to another GPU';
    case 'measure':
      return 'to leave room';
    case 'returns':
      return 'waits for room';
    case 'not_returned':
      return 'could not come back';
    default:
      return '';
  }
}

export function leftText(lease: Lease, now: number): string {
  if (lease.state === 'suspended') return lease.paused ? pausedUntil(lease, now) : '';
  if (lease.state === 'releasing') return 'until it is freed';
  const end = timeOf(lease.expected_end) ?? timeOf(lease.expires);
  if (end === null) return 'no end known';
  return end <= now ? 'any moment' : `~${duration(end - now)}`;
}

function pausedUntil(lease: Lease, now: number): string {
  const until = timeOf(lease.paused?.until);
  return until === null ? 'until resumed' : `until ${clock(Math.max(until, now))}`;
}

export const queue = {
  title: 'Queue',
  empty: 'Nobody waits. What is free above is granted at once.',
  starts: 'starts',
  unknown: 'start not known',
};

export function queueCount(count: number): string {
  return counted(count, 'request');
}

export function askedFor(lease: Lease): string {
  const where =
    lease.requested_devices.length > 0
      ? `GPU ${joined(lease.requested_devices.map(String))}`
      : 'any GPU';
  const each = lease.device_count > 1 ? `each of ${lease.device_count} GPUs` : where;
  if (lease.vram_requested_bytes === null) {
    return lease.device_count > 1 ? `${lease.device_count} whole GPUs` : `a whole GPU (${where})`;
  }
  return `${size(lease.vram_requested_bytes / lease.device_count)} on ${each}`;
}

export function queueMeta(lease: Lease, now: number): string {
  const parts = [askedFor(lease), lease.priority];
  if (lease.limit_ms !== null) parts.push(`limit ${duration(lease.limit_ms)}`);
  parts.push(`waits ${duration(now - (timeOf(lease.queued) ?? now))}`);
  return parts.join(' · ');
}

/** Why a request waits, in a sentence or two. */
export function reasonText(lease: Lease, why: Why): string {
  const missing = why.shortages[Math.min(why.devices_fitting, why.shortages.length - 1)];
  const holders = why.holders
    .filter((holder) => !holder.has_ended)
    .map((holder) => String(holder.id));
  const ends = holders.length > 0 ? ` It fits when ${endsOf(holders)} ended.` : '';
  switch (why.reason) {
    case 'memory':
    case 'overcommitted':
      if (!missing) return `No GPU has enough to grant.${ends}`;
      return `GPU ${missing.index} can grant ${gib(missing.vram_grantable_bytes)} of the ${size(
        missing.vram_grantable_bytes + missing.vram_missing_bytes,
      )}.${ends}`;
    case 'turn':
      return why.ahead.length > 0
        ? `It would fit now, but ${joined(why.ahead.slice(0, 3).map(String))} ${why.ahead.length === 1 ? 'is' : 'are'} ahead.`
        : 'It would fit now, and the room is kept for a lease that grows or comes back.';
    case 'exclusive':
      return `It needs a GPU for itself.${ends}`;
    case 'unmanaged':
      return `Processes without a lease use ${missing ? size(missing.vram_unmanaged_bytes) : 'the memory'}.`;
    case 'driver':
      return 'The driver has not said how the GPUs are. Nothing is granted until it does.';
    case 'parked':
      return 'Its `berth run` was stopped; `fg` brings it back to its place.';
    case 'after':
      return `It starts when ${joined(lease.after.map((one) => String(one.lease)))} ended.`;
    case 'not_before':
      return `It starts at ${clock(timeOf(lease.not_before) ?? 0)} or later.`;
    case 'members':
      return 'It goes on with its members.';
    case 'on_hold':
      return lease.on_hold?.by ? `${lease.on_hold.by} keeps it on hold.` : 'It is on hold.';
    case 'not_reconnected':
      return 'Its `berth run` has not come back since the daemon was restarted.';
    case 'claim':
      return 'It was offered the GPU and has not taken it up yet.';
    case 'passed':
      return 'The first in the queue was passed for long enough: nothing may pass it now.';
    case 'user_limit':
      return 'Its user has as much as one user may have; one of their leases must end first.';
    case 'stopped':
      return 'Nothing is granted at present. `berth doctor` names the cause.';
    case 'probing':
      return 'The memory of a lease that ended has yet to be seen free. That takes moments.';
    case 'slices':
      return 'Others that run in turns have theirs.';
    case 'above_limit':
      return 'It asks for more than may be granted by now.';
    case 'outlived':
      return 'Programs of a lease that has ended still use the memory.';
    default:
      return 'It comes back when there is room.';
  }
}

function endsOf(holders: readonly string[]): string {
  const shown =
    holders.length > 3 ? [...holders.slice(0, 3), `${holders.length - 3} more`] : holders;
  return `${joined(shown)} ${holders.length === 1 ? 'has' : 'have'}`;
}

/** What a remedy is called on its button. */
export function remedyLabel(remedy: Remedy, mine: boolean, whose: string): string {
  const them = joined([remedy.id, ...remedy.also].filter((id) => id !== null).map(String));
  const act = {
    ask_less: `Ask for ${size(remedy.vram_bytes)}`,
    pause_lease: `pause ${them}`,
    shrink_lease: `shrink ${them} to ${size(remedy.vram_bytes)}`,
    other_device: 'Take another GPU',
    requeue_lease: `requeue ${them}`,
    cancel_lease: `end ${them}`,
    end_programs: `end the programs of ${them}`,
    release_lease: `release ${them}`,
  }[remedy.kind];
  if (remedy.kind === 'ask_less' || remedy.kind === 'other_device') return act;
  return mine ? act.charAt(0).toUpperCase() + act.slice(1) : `Message ${whose}: ${act}`;
}

export const timeline = {
  title: 'Timeline',
  sub: 'what ran, and what is expected',
  ran: 'ran',
  expected: 'expected',
  waits: 'waits',
  suspended: 'suspended',
  noEnd: 'no end known',
  noStart: 'no start known',
  untilResumed: 'suspended until resumed',
};

export function startsAt(when: number): string {
  return `starts ~${clock(when)}`;
}

export const sets = {
  title: 'Sets and jobs',
  ok: 'ok',
  failed: 'failed',
  run: 'run',
  wait: 'wait',
};

export const events = {
  title: 'Events',
  trail: 'Who did what',
  none: 'Nothing has happened yet.',
};

export function shownOf(shown: number, all: number): string {
  return shown < all ? `${shown} of ${all}` : String(all);
}

export function lastOf(shown: number, all: number): string {
  return `The last ${shown} of ${all}. Search to find others.`;
}

export const ended = {
  title: 'Leases that ended',
  none: 'No lease has ended in this time.',
  result: 'Result',
  peakOfGranted: 'Peak / granted, GiB',
  waited: 'Waited',
  ran: 'Ran for',
  at: 'Ended',
};

export function resultWord(result: Lease['result']): string {
  return result === null ? dash : result.replace('_', ' ');
}

export const history = {
  title: 'History',
  users: 'Who held how much',
  user: 'User',
  leases: 'Leases',
  gpuTime: 'Held, times GPUs',
  waited: 'Waited',
  usedShare: 'Of it used',
  failed: 'Not ended well',
};

export const alerts = {
  title: 'Alerts',
  sub: 'Rules of the configuration, and whether they hold.',
  none: 'No rule is configured.',
  since: 'since',
  test: 'Send a test',
};

export function tells(channels: string): string {
  return channels === '' ? 'tells nobody' : `tells ${channels}`;
}

export function undelivered(count: number): string {
  return `${counted(count, 'message')} could not be delivered yet.`;
}

export function testOutcome(
  items: readonly { channel: string; outcome: string; reason: string | null }[],
): string {
  if (items.length === 0) return 'It has no channel of its own';
  const one = items.map(
    ({ channel, outcome, reason }) => `${channel}: ${outcome}${reason ? `, ${reason}` : ''}`,
  );
  return one.join('; ');
}

const kDone: Record<string, string> = {
  grant: 'granted',
  end: 'ended',
  cancel: 'cancelled',
  release: 'released',
  detach: 'released; its program runs on',
  limit: 'reached its time limit',
  pause: 'paused',
  resume: 'resumed',
  preempt: 'makes room',
  measure: 'measure against pressure',
  move: 'moved',
  resize: 'resized',
  hold: 'put on hold',
  unhold: 'let go on',
  edit: 'edited',
  requeue: 'requeued',
  retry: 'failed, and is started again',
  checkpoint: 'asked to save',
  renew: 'renewed',
  reload: 'configuration reloaded',
  refuse: 'was refused memory',
  message: 'message',
  answer: 'answer',
};

export function eventText(event: {
  verb: string;
  by: string | null;
  user: string | null;
  reason: string | null;
}): string {
  const by = event.by && event.by !== event.user ? ` by ${event.by}` : '';
  const reason = event.reason ? `: ${event.reason}` : '';
  return `${kDone[event.verb] ?? event.verb}${by}${reason}`;
}

export const empty = {
  title: 'Nobody holds GPU memory',
  commands: [
    ['berth run -m 8G -- python train.py', 'a program that needs 8 GiB'],
    ['berth run -- python train.py', 'a program that needs a whole GPU'],
    ['berth reserve 2h -m 8G -n notebook', 'memory for two hours'],
  ] as const,
};

export function emptyText(totals: Totals): string {
  return `${gib(totals.grantable)} GiB are free to grant on ${counted(totals.devices, 'GPU')}. Start something, and it appears here.`;
}

/** Of the keys, what they do: in the foot of the page and in the help. */
export const keys = [
  ['/', 'find'],
  ['j k', 'rows'],
  ['Enter', 'details'],
  ['p', 'pause'],
  ['r', 'resume'],
  ['s', 'save'],
  ['x', 'release'],
  ['m', 'message'],
  ['w', 'why it waits'],
  ['Space', 'stop updates'],
  ['?', 'all keys'],
] as const;
export const keysTitle = 'Keys';

export const drawer = {
  used: 'Used now',
  peak: 'Peak',
  granted: 'Granted',
  age: 'Age',
  left: 'Left',
  progress: 'Progress',
  program: 'Program',
  command: 'Command',
  processes: 'Processes',
  gpus: 'GPUs',
  saves: 'Saves',
  messages: 'Messages',
  whyWaits: 'Why it waits',
  memory: 'Memory since it was granted, GiB',
  events: 'Who did what',
  hidden: 'not shown to others',
  lastSave: 'Last save',
  never: 'none yet',
  notAsked: 'It cannot be asked to save itself',
};

export const training = {
  title: 'Trainings',
  lease: 'Lease',
  phase: 'Phase',
  step: 'Step',
  loss: 'Loss',
  lossOverTime: 'Loss, as its program reports it',
};

type Steps = { done: number; total: number | null };

export function stepOf(progress: Steps): string {
  return `${progress.done} ${ofTotal(progress)}`.trim();
}

export function ofTotal({ total }: Steps): string {
  return total === null ? '' : `of ${total}`;
}

export function lossChartLabel(
  first: number,
  last: number,
  least: number,
  phase: string | null,
): string {
  const where = phase === null ? '' : `, in ${phase}`;
  return `Loss: ${lossText(first)} at first, ${lossText(last)} now${where}; ${lossText(least)} at best`;
}

export const output = {
  title: 'Output',
  show: 'Show what it printed',
  reading: 'Reading…',
};

/** Above what a job has printed. */
export function outputNote(log: JobLog): string {
  if (log.trouble) return sentence(log.trouble);
  if (log.attempts === 0) return 'It has not been started yet.';
  const attempt = log.attempts > 1 ? `Attempt ${log.attempt} of ${log.attempts}. ` : '';
  if (log.text === '') return `${attempt}It has printed nothing yet.`;
  return log.whole
    ? `${attempt}stdout and stderr.`
    : `${attempt}The end of it; berth logs ${log.job} shows all.`;
}

export const doctor = {
  title: 'Doctor',
  sub: 'Looks at driver, GPUs, daemon, directories and enforcement, as berth doctor does on a terminal, with the environment of the daemon.',
  look: 'Look now',
  looking: 'Looking…',
};

export function doctorSum(findings: readonly DoctorFinding[], time: string): string {
  const count = (level: string) => findings.filter((one) => one.level === level).length;
  return `${counted(count('fail'), 'failure')}, ${counted(count('warn'), 'warning')} at ${time}`;
}

export function leaseChartLabel(least: number, most: number, granted: number): string {
  return `Memory since it was granted: between ${size(least)} and ${size(most)} of a budget of ${size(granted)}`;
}

export function budgetOf(granted: number): string {
  return `budget ${gib(granted)}`;
}

/** Buttons that ask first end in an ellipsis. */
export const verbs = {
  pause: 'Pause',
  resume: 'Resume',
  save: 'Save now',
  release: 'Release',
  cancel: 'Withdraw',
  hold: 'Hold',
  unhold: 'Let it start',
  message: 'Message',
  edit: 'Ask for less',
  resize: 'Shrink',
  requeue: 'Requeue',
  leave: 'Leave it',
  send: 'Send',
};

export function failed(what: string, why: string): string {
  return `${what} was not done: ${why}`;
}

export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
