// SPDX-License-Identifier: Apache-2.0
// Sets of jobs, and what happened.
import { clock } from '../format.ts';
import { numberOf, sessionOf, setsOf, type SetRow } from '../overview.ts';
import * as texts from '../texts.ts';
import { EventMark } from './icons.tsx';
import { hueClass, type Ui } from './ui.ts';

/** A larger set is drawn in cells that stand for several jobs. */
const kCells = 120;
const kEventsShown = 12;

export function Sets({ ui }: { ui: Ui }) {
  const sets = setsOf(ui.model);
  if (sets.length === 0) return null;
  return (
    <section class="card" aria-labelledby="sets">
      <div class="head">
        <h2 id="sets">{texts.sets.title}</h2>
      </div>
      {sets.map((row) => (
        <OneSet key={row.set.id} ui={ui} row={row} />
      ))}
    </section>
  );
}

function OneSet({ ui, row }: { ui: Ui; row: SetRow }) {
  const words = [
    [row.ok, texts.sets.ok],
    [row.running, texts.sets.run],
    [row.failed, texts.sets.failed],
    [row.waiting, texts.sets.wait],
  ] as const;
  const label = words.map(([count, word]) => `${count} ${word}`).join(', ');
  const first = [...row.members.values()].find((lease) => ui.model.hues.has(lease.id));
  return (
    <div class={`set ${first ? hueClass(ui.model, first.id) : ''}`}>
      <div class="line">
        <b>
          {numberOf(row.set)} {sessionOf(row.set)}
        </b>
      </div>
      <div class="cells" role="img" aria-label={label}>
        {cellsOf(row).map((kind, i) => (
          <i key={i} class={kind} />
        ))}
      </div>
      <ul>
        {words.map(([count, word]) => (
          <li key={word} class={word === texts.sets.failed && count > 0 ? 'critical' : ''}>
            <b>{count}</b> {word}
          </li>
        ))}
      </ul>
    </div>
  );
}

// In the order of how far they are, each cell one job or its share of them.
function cellsOf(row: SetRow): string[] {
  const total = row.set.members;
  const counts: [string, number][] = [
    ['ok', row.ok],
    ['failed', row.failed],
    ['runs', row.running],
    ['waits', row.waiting],
  ];
  const scale = Math.min(1, kCells / Math.max(1, total));
  return counts.flatMap(([kind, count]) =>
    new Array<string>(count > 0 ? Math.max(1, Math.round(count * scale)) : 0).fill(kind),
  );
}

export function Events({ ui }: { ui: Ui }) {
  return (
    <section class="card" aria-labelledby="events">
      <div class="head">
        <h2 id="events">{texts.events.title}</h2>
      </div>
      {ui.model.events.length === 0 && <p class="nothing">{texts.events.none}</p>}
      <ol class="events">
        {ui.model.events.slice(0, kEventsShown).map((event) => (
          <li key={`${event.time}${event.verb}${event.lease}`}>
            <time>{clock(Date.parse(event.time))}</time>
            <EventMark verb={event.verb} />
            <span class="cut">
              {event.lease !== null && (
                <b>
                  {event.lease}{' '}
                  {sessionOf({
                    user: event.user,
                    user_id: event.user_id ?? 0,
                    name: event.name,
                  })}{' '}
                </b>
              )}
              {texts.eventText(event)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
