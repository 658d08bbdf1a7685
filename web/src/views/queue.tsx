// SPDX-License-Identifier: Apache-2.0
// Who waits, why, and what would help: buttons that do it.
import type { Lease, Remedy, Why } from '../wire.ts';
import { actionOf, actionOfRemedy, verbsFor } from '../actions.ts';
import { askWhy } from '../api.ts';
import { clock, timeOf } from '../format.ts';
import { mayChange, numberOf, sessionOf } from '../overview.ts';
import * as texts from '../texts.ts';
import { useAnswers } from './asking.ts';
import type { Ui } from './ui.ts';

/** Of so many the reason is asked; the rest are counted. */
export const kReasonsShown = 5;
/** No more often than this, however much changes. */
const kAskEveryMs = 3000;
const kHelpShown = 3;
const kHarsh: readonly Remedy['kind'][] = ['cancel_lease', 'release_lease', 'end_programs'];

/** Asks for the reasons of those that wait first, again when what matters has changed. */
export function useReasons(
  waiting: readonly Lease[],
  key: string,
  onAnswer: (reasons: readonly Why[]) => void,
): void {
  const ids = waiting.slice(0, kReasonsShown).map((lease) => lease.id);
  useAnswers(
    key,
    kAskEveryMs,
    ids.length === 0 ? null : () => Promise.all(ids.map(askWhy)),
    (answers) => onAnswer(answers.flatMap((answer) => (answer.ok ? [answer.value] : []))),
  );
}

/** Why it waits and what would help, of a request in its details. */
export function Reason({ ui, lease }: { ui: Ui; lease: Lease }) {
  const why = ui.model.reasons.get(lease.id);
  if (!why) return null;
  const start = timeOf(why.expected_start);
  return (
    <>
      <p>
        {texts.reasonText(lease, why)}{' '}
        {start !== null && `${texts.sentence(texts.startsAt(start))}`}
      </p>
      <p class="buttons">
        {why.remedies.map((remedy, i) => (
          <Help key={i} ui={ui} lease={lease} remedy={remedy} />
        ))}
      </p>
    </>
  );
}

export function Queue({ ui, waiting }: { ui: Ui; waiting: readonly Lease[] }) {
  return (
    <section class="card queue" aria-labelledby="queue">
      <div class="head">
        <h2 id="queue">{texts.queue.title}</h2>
        <span>{texts.queueCount(waiting.length)}</span>
      </div>
      {waiting.length === 0 && <p class="nothing">{texts.queue.empty}</p>}
      <ol>
        {waiting.map((lease, i) => (
          <Item
            key={lease.id}
            ui={ui}
            lease={lease}
            position={i + 1}
            why={ui.model.reasons.get(lease.id)}
          />
        ))}
      </ol>
    </section>
  );
}

type ItemProps = { ui: Ui; lease: Lease; position: number; why: Why | undefined };

function Item({ ui, lease, position, why }: ItemProps) {
  const start = timeOf(why?.expected_start);
  return (
    <li data-lease={lease.id}>
      <span class="third">{position}</span>
      <a
        class="who cut"
        href={`#lease=${lease.id}`}
        onClick={(event) => {
          event.preventDefault();
          ui.open(lease.id);
        }}
      >
        {numberOf(lease)} {sessionOf(lease)}
      </a>
      <span class="when">
        {start === null ? (
          <span class="third">{why ? texts.queue.unknown : ''}</span>
        ) : (
          <>
            {texts.queue.starts} <b>~{clock(start)}</b>
          </>
        )}
      </span>
      <p class="meta">{texts.queueMeta(lease, ui.now)}</p>
      {why && <p class="reason">{texts.reasonText(lease, why)}</p>}
      <p class="help">
        {shownOf(why?.remedies ?? []).map((remedy, i) => (
          <Help key={i} ui={ui} lease={lease} remedy={remedy} />
        ))}
        <span class="own">
          {verbsFor(lease, ui.model).map((verb) => {
            const action = actionOf(verb, lease, ui.model, ui.now);
            return (
              <button
                key={verb}
                class="button quiet"
                disabled={!ui.connected}
                onClick={() => ui.act(action)}
              >
                {action.harmless ? action.label : `${action.label}…`}
              </button>
            );
          })}
        </span>
      </p>
    </li>
  );
}

/** The gentlest first; what ends a program only where little else helps. */
function shownOf(remedies: readonly Remedy[]): Remedy[] {
  const isHarsh = (remedy: Remedy) => kHarsh.includes(remedy.kind);
  return [...remedies.filter((one) => !isHarsh(one)), ...remedies.filter(isHarsh)].slice(
    0,
    kHelpShown,
  );
}

function Help({ ui, lease, remedy }: { ui: Ui; lease: Lease; remedy: Remedy }) {
  const action = ui.model.viewer?.may_act ? actionOfRemedy(remedy, lease, ui.model, ui.now) : null;
  if (!action) return null;
  const target = remedy.id === null ? undefined : ui.model.leases.get(remedy.id);
  const mine = !target || mayChange(target, ui.model.viewer);
  const whose = target?.user ?? (target ? `uid ${target.user_id}` : '');
  return (
    <button class="button" disabled={!ui.connected} onClick={() => ui.act(action)}>
      {texts.remedyLabel(remedy, mine, whose)}…
    </button>
  );
}
