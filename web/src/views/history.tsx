// SPDX-License-Identifier: Apache-2.0
// The page of the past: who held how much, which leases ended and how, who did what.
import { useState } from 'preact/hooks';
import type { AuditEntry, PastSession } from '../wire.ts';
import { askEvents, askSessions } from '../api.ts';
import { dash, duration, moment } from '../format.ts';
import { sessionOf } from '../overview.ts';
import * as texts from '../texts.ts';
import { usageOf, usedShare } from '../usage.ts';
import { useAnswers } from './asking.ts';
import { EventMark } from './icons.tsx';
import { SessionsTable } from './sessions.tsx';
import type { Ui } from './ui.ts';

const kHour = 3_600_000;
const kPeriods = [
  ['24 h', 24 * kHour],
  ['7 d', 7 * 24 * kHour],
  ['30 d', 30 * 24 * kHour],
] as const;
const kEventsShown = 200;
/** No more often than this, however many leases end. */
const kAskEveryMs = 5000;

type Known = { sessions: readonly PastSession[]; events: readonly AuditEntry[] };

export function HistoryPage({ ui }: { ui: Ui }) {
  const [period, setPeriod] = useState<number>(kPeriods[0][1]);
  const [search, setSearch] = useState('');
  const [known, setKnown] = useState<Known | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const since = ui.model.time - period;
  useAnswers(
    ui.model.ended[0]?.id,
    kAskEveryMs,
    () => Promise.all([askSessions(since), askEvents(since)]),
    ([sessions, events]) => {
      if (!sessions.ok) setFailure(sessions.message);
      else if (!events.ok) setFailure(events.message);
      else setKnown({ sessions: sessions.value.items, events: events.value.items });
    },
    period,
  );
  return (
    <>
      <div class="hero whole">
        <h1>{texts.history.title}</h1>
        <div class="spring" />
        <input
          class="search"
          type="search"
          aria-label={texts.leases.search}
          placeholder={texts.leases.search}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <div class="segments" role="group" aria-label={texts.page.time}>
          {kPeriods.map(([name, span]) => (
            <button key={name} aria-pressed={span === period} onClick={() => setPeriod(span)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      {failure && <p class="note critical whole">{texts.sentence(failure)}</p>}
      {known && <Users sessions={known.sessions} />}
      {known && (
        <section class="card whole" aria-labelledby="ended">
          <div class="head">
            <h2 id="ended">{texts.ended.title}</h2>
          </div>
          <SessionsTable sessions={known.sessions} search={search} now={ui.now} />
        </section>
      )}
      {known && <Trail events={known.events} search={search} now={ui.now} />}
    </>
  );
}

function Users({ sessions }: { sessions: readonly PastSession[] }) {
  const rows = usageOf(sessions);
  if (rows.length === 0) return null;
  return (
    <section class="card whole" aria-labelledby="users">
      <div class="head">
        <h2 id="users">{texts.history.users}</h2>
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.history.user}</th>
              <th scope="col" class="number">
                {texts.history.leases}
              </th>
              <th scope="col" class="number">
                {texts.history.gpuTime}
              </th>
              <th scope="col" class="number">
                {texts.history.waited}
              </th>
              <th scope="col" class="number">
                {texts.history.usedShare}
              </th>
              <th scope="col" class="number">
                {texts.history.failed}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const share = usedShare(row);
              return (
                <tr key={row.user}>
                  <td>
                    <b>{row.user}</b>
                  </td>
                  <td class="number">{row.sessions}</td>
                  <td class="number">{duration(row.gpuMs)}</td>
                  <td class="number second">{duration(row.waitMs)}</td>
                  <td class="number second">{share === null ? dash : `${share} %`}</td>
                  <td class="number second">{row.failed}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

type TrailProps = { events: readonly AuditEntry[]; search: string; now: number };

function Trail({ events, search, now }: TrailProps) {
  const text = search.trim().toLowerCase();
  const shown = [...events]
    .sort((a, b) => b.time.localeCompare(a.time))
    .filter((one) => `${one.lease} ${nameOf(one)} ${one.by}`.toLowerCase().includes(text))
    .slice(0, kEventsShown);
  return (
    <section class="card whole" aria-labelledby="trail">
      <div class="head">
        <h2 id="trail">{texts.events.trail}</h2>
        <span>{texts.shownOf(shown.length, events.length)}</span>
      </div>
      {shown.length === 0 && <p class="nothing">{texts.events.none}</p>}
      <ol class="events dated">
        {shown.map((event, i) => (
          <li key={i}>
            <time>{moment(Date.parse(event.time), now)}</time>
            <EventMark verb={event.verb} />
            <span>
              {event.lease !== null && (
                <b>
                  {event.lease} {nameOf(event)}{' '}
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

function nameOf(event: AuditEntry): string {
  return event.lease === null
    ? ''
    : sessionOf({ user: event.user, user_id: event.user_id ?? 0, name: event.name });
}
