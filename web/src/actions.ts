// SPDX-License-Identifier: Apache-2.0
// What can be done to a lease: what it will mean, what is sent, what undoes it. Pure.
import type { Lease, Remedy } from './wire.ts';
import type { Model } from './live.ts';
import { mayChange, numberOf, sessionOf } from './overview.ts';
import { duration, size, sizeArgument, timeOf } from './format.ts';
import { verbs } from './texts.ts';

export type Verb =
  | 'pause'
  | 'resume'
  | 'save'
  | 'release'
  | 'cancel'
  | 'hold'
  | 'unhold'
  | 'requeue'
  | 'message'
  | 'edit'
  | 'resize';

/** What is asked before, sent, and said after. */
export type Action = {
  verb: Verb;
  lease: number;
  label: string;
  /** Nothing is asked before it: it takes nothing from anybody. */
  harmless: boolean;
  question: string;
  effects: string[];
  command: string;
  path: string;
  body: Record<string, unknown>;
  /** The line after it was done. */
  done: string;
  undo: Verb | null;
};

/** What the viewer may do to it now, the most usual first. */
export function verbsFor(lease: Lease, model: Model): Verb[] {
  if (!model.viewer?.may_act) return [];
  if (!mayChange(lease, model.viewer)) return lease.state === 'waiting' ? [] : ['message'];
  const is = (flag: Lease['flags'][number]) => lease.flags.includes(flag);
  if (lease.state === 'waiting') return [lease.on_hold ? 'unhold' : 'hold', 'cancel'];
  if (lease.state === 'releasing' || lease.state === 'ended') return [];
  if (lease.state === 'suspended' || is('frozen')) return ['resume', 'release'];
  const verbs: Verb[] = ['pause', 'release'];
  if (lease.checkpoint) verbs.unshift('save');
  if (lease.requeue_grace_ms !== null) verbs.push('requeue');
  return verbs;
}

export function actionOf(verb: Verb, lease: Lease, model: Model, now: number): Action {
  const id = numberOf(lease);
  const path = `/v1/leases/${lease.id}`;
  const base = {
    verb,
    lease: lease.id,
    harmless: false,
    effects: [] as string[],
    body: {},
    undo: null,
  };
  switch (verb) {
    case 'pause':
      return {
        ...base,
        label: verbs.pause,
        question: `Pause ${id}?`,
        effects: [
          pauseEffect(lease),
          nextEffect(lease, model, ['pause_lease']),
          `${id} goes on when you resume it and there is room.`,
        ].filter(Boolean),
        command: `berth pause ${lease.id}`,
        path: `${path}/suspend`,
        done: `${id} is suspended.`,
        undo: 'resume',
      };
    case 'resume':
      return {
        ...base,
        label: verbs.resume,
        harmless: true,
        question: `Resume ${id}?`,
        command: `berth resume ${lease.id}`,
        path: `${path}/resume`,
        done: `${id} runs again, or comes back when there is room.`,
      };
    case 'save':
      return {
        ...base,
        label: verbs.save,
        harmless: true,
        question: `Ask ${id} to save itself?`,
        command: `berth checkpoint ${lease.id}`,
        path: `${path}/checkpoint`,
        body: { wait_ms: 0 },
        done: `${id} was asked to save itself.`,
      };
    case 'release':
      return {
        ...base,
        label: verbs.release,
        question: `Release ${id}?`,
        effects: [
          'Its program is stopped: it is asked to end, and is killed after 10 s.',
          lossEffect(lease, now),
          nextEffect(lease, model, ['release_lease', 'cancel_lease', 'end_programs']),
        ].filter(Boolean),
        command: `berth release --kill ${lease.id}`,
        path: `${path}/release`,
        body: { kill: true },
        done: `${id} was asked to end.`,
      };
    case 'cancel':
      return {
        ...base,
        label: verbs.cancel,
        question: `Withdraw ${id}?`,
        effects: ['It leaves the queue and does not start.'],
        command: `berth cancel ${lease.id}`,
        path: `${path}/cancel`,
        done: `${id} was withdrawn.`,
      };
    case 'hold':
      return {
        ...base,
        label: verbs.hold,
        harmless: true,
        question: `Keep ${id} from starting?`,
        command: `berth hold ${lease.id}`,
        path: `${path}/hold`,
        done: `${id} is on hold.`,
        undo: 'unhold',
      };
    case 'unhold':
      return {
        ...base,
        label: verbs.unhold,
        harmless: true,
        question: `Let ${id} start?`,
        command: `berth hold --off ${lease.id}`,
        path: `${path}/hold`,
        body: { off: true },
        done: `${id} may start.`,
        undo: 'hold',
      };
    case 'requeue':
      return {
        ...base,
        label: verbs.requeue,
        question: `Requeue ${id}?`,
        effects: [
          'Its program is stopped, waits in the queue, and is started again.',
          lossEffect(lease, now),
        ],
        command: `berth requeue ${lease.id}`,
        path: `${path}/requeue`,
        done: `${id} is being requeued.`,
      };
    case 'message':
      return messageOf(lease, 'could you make room?');
    case 'edit':
    case 'resize':
      throw new Error(`${verb} needs a size: actionOfRemedy`);
  }
}

/** `text`: one line, which everybody can read. */
export function messageOf(lease: Lease, text: string): Action {
  const whose = lease.user ?? `uid ${lease.user_id}`;
  return {
    verb: 'message',
    lease: lease.id,
    label: verbs.message,
    harmless: false,
    question: `Message ${whose} about ${numberOf(lease)}?`,
    effects: ['Everybody on this machine can read it. It changes nothing by itself.'],
    command: `berth message ${lease.id} "${text}"`,
    path: `/v1/leases/${lease.id}/message`,
    body: { text },
    done: `${whose} was asked.`,
    undo: null,
  };
}

/** What a button under a request that waits does; null: nothing that the page can do. */
export function actionOfRemedy(
  remedy: Remedy,
  waiting: Lease,
  model: Model,
  now: number,
): Action | null {
  const target = remedy.id === null ? undefined : model.leases.get(remedy.id);
  if (remedy.kind === 'ask_less') return lessOf(remedy, waiting, model);
  if (!target || remedy.also.length > 0) return null;
  if (!mayChange(target, model.viewer)) {
    return messageOf(target, wish(remedy, waiting));
  }
  switch (remedy.kind) {
    case 'pause_lease':
      return actionOf('pause', target, model, now);
    case 'release_lease':
    case 'end_programs':
      return actionOf('release', target, model, now);
    case 'requeue_lease':
      return actionOf('requeue', target, model, now);
    case 'cancel_lease':
      return actionOf(target.state === 'waiting' ? 'cancel' : 'release', target, model, now);
    case 'shrink_lease':
      return shrinkOf(remedy, target);
    default:
      return null;
  }
}

function lessOf(remedy: Remedy, waiting: Lease, model: Model): Action | null {
  if (remedy.vram_bytes === null || !mayChange(waiting, model.viewer)) return null;
  const id = numberOf(waiting);
  return {
    verb: 'edit',
    lease: waiting.id,
    label: verbs.edit,
    harmless: false,
    question: `Let ${id} ask for ${size(remedy.vram_bytes)}?`,
    effects: ['It starts at once. Its program has that much and no more.'],
    command: `berth edit ${waiting.id} -m ${sizeArgument(remedy.vram_bytes)}`,
    path: `/v1/leases/${waiting.id}/edit`,
    body: { vram_bytes: remedy.vram_bytes },
    done: `${id} asks for ${size(remedy.vram_bytes)} now.`,
    undo: null,
  };
}

function shrinkOf(remedy: Remedy, target: Lease): Action | null {
  if (remedy.vram_bytes === null) return null;
  const id = numberOf(target);
  return {
    verb: 'resize',
    lease: target.id,
    label: verbs.resize,
    harmless: false,
    question: `Shrink ${id} to ${size(remedy.vram_bytes)}?`,
    effects: ['That is no less than its peak so far. It is refused more than that from now on.'],
    command: `berth resize ${target.id} -m ${sizeArgument(remedy.vram_bytes)}`,
    path: `/v1/leases/${target.id}/resize`,
    body: { vram_bytes: remedy.vram_bytes },
    done: `${id} has ${size(remedy.vram_bytes)} now.`,
    undo: null,
  };
}

function wish(remedy: Remedy, waiting: Lease): string {
  const what = {
    pause_lease: 'pause',
    shrink_lease: `shrink to ${size(remedy.vram_bytes)}`,
    requeue_lease: 'requeue',
    cancel_lease: 'cancel',
    end_programs: 'end the programs of',
    release_lease: 'release',
    ask_less: '',
    other_device: '',
  }[remedy.kind];
  return `could you ${what} ${remedy.id}? ${waiting.id} ${sessionOf(waiting)} waits for that room`;
}

function pauseEffect(lease: Lease): string {
  if (lease.vram_used_bytes === null) return 'Its memory moves to host memory.';
  return `Its ${size(lease.vram_used_bytes)} move to host memory.`;
}

// Whom that helps, by what the daemon has tried.
function nextEffect(lease: Lease, model: Model, kinds: readonly Remedy['kind'][]): string {
  const helped = [...model.reasons.values()].filter((why) =>
    why.remedies.some(
      (remedy) => kinds.includes(remedy.kind) && remedy.id === lease.id && remedy.also.length === 0,
    ),
  );
  const waiting = helped.map((why) => model.leases.get(why.id)).find((one) => one !== undefined);
  return waiting ? `${numberOf(waiting)} ${sessionOf(waiting)} could start then.` : '';
}

function lossEffect(lease: Lease, now: number): string {
  if (!lease.checkpoint) return 'It cannot be asked to save itself: what it has not saved is lost.';
  const saved = timeOf(lease.checkpoint.saved);
  if (saved === null) return 'It has not saved itself yet: all that it computed is lost.';
  return `It saved itself ${duration(Math.max(0, now - saved))} ago; what came after is lost.`;
}
