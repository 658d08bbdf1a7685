// SPDX-License-Identifier: Apache-2.0
// The table of leases that do not wait, by where they are; and of those that have ended.
import { useRef, useState } from 'preact/hooks';
import type { Lease, PastSession } from '../wire.ts';
import { actionOf, verbsFor, type Verb } from '../actions.ts';
import { askSessions } from '../api.ts';
import { dash, duration, gib, timeOf } from '../format.ts';
import * as overview from '../overview.ts';
import * as texts from '../texts.ts';
import { useAnswers } from './asking.ts';
import { Icon, SignMark, type IconName } from './icons.tsx';
import { SessionsTable } from './sessions.tsx';
import { hueClass, type Ui } from './ui.ts';

type Props = {
  ui: Ui;
  filter: overview.Filter;
  sort: overview.Sort;
  chosen: number | null;
  onFilter(filter: overview.Filter): void;
  onSort(sort: overview.Sort): void;
};

export function Leases({ ui, filter, sort, chosen, onFilter, onSort }: Props) {
  const [search, setSearch] = useState('');
  const hovered = useRef(false);
  const order = useRef<number[]>([]);
  const sorted = overview.groupsOf(ui.model, filter, sort, search);
  const groups = hovered.current ? overview.keptInPlace(sorted, order.current) : sorted;
  order.current = groups.flatMap((group) => group.leases.map((lease) => lease.id));
  const totals = overview.totalsOf(ui.model);
  const heading = (key: overview.SortKey, text: string, className = '') => (
    <th
      scope="col"
      class={className}
      aria-sort={sort.key === key ? (sort.descending ? 'descending' : 'ascending') : undefined}
    >
      <button onClick={() => onSort({ key, descending: sort.key === key && !sort.descending })}>
        {text}
      </button>
    </th>
  );
  return (
    <section class="card leases" aria-labelledby="leases">
      <div class="head">
        <h2 id="leases">{texts.leases.title}</h2>
        <span>{texts.leasesCount(totals.held, totals.suspended)}</span>
        <div class="spring" />
        <input
          class="search"
          type="search"
          aria-label={texts.leases.search}
          placeholder={texts.leases.search}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <div class="segments" role="group" aria-label={texts.leases.title}>
          {(['all', 'mine', 'ended'] as const).map((one) => (
            <button key={one} aria-pressed={filter === one} onClick={() => onFilter(one)}>
              {texts.leases[one]}
            </button>
          ))}
        </div>
      </div>
      {filter === 'ended' ? (
        <Ended ui={ui} search={search} />
      ) : (
        <div
          class="scroll"
          onPointerEnter={() => {
            hovered.current = true;
          }}
          onPointerLeave={() => {
            hovered.current = false;
          }}
        >
          <table>
            <thead>
              <tr>
                {heading('id', texts.leases.id)}
                {heading('session', texts.leases.session)}
                <th scope="col">{texts.leases.state}</th>
                <td class="meter" />
                {heading('used', texts.leases.memory, 'number')}
                {heading('age', texts.leases.age, 'number')}
                {heading('left', texts.leases.left, 'number')}
                <th scope="col">
                  <span class="unseen">{texts.leases.actions}</span>
                </th>
              </tr>
            </thead>
            {groups.map((group) => (
              <tbody key={group.devices.join() + group.inHost}>
                <GroupRow ui={ui} group={group} />
                {group.leases.map((lease) => (
                  <LeaseRow key={lease.id} ui={ui} lease={lease} chosen={lease.id === chosen} />
                ))}
              </tbody>
            ))}
          </table>
          {groups.length === 0 && (
            <p class="nothing">{search ? texts.leases.noneFound : texts.leases.noneOfYours}</p>
          )}
        </div>
      )}
    </section>
  );
}

function GroupRow({ ui, group }: { ui: Ui; group: overview.Group }) {
  const device =
    group.devices.length === 1
      ? ui.model.devices.find((one) => one.index === group.devices[0])
      : undefined;
  return (
    <tr class="group">
      <th scope="rowgroup" colSpan={8}>
        {texts.groupName(group.devices, group.inHost)}
        {device && <span>{texts.unmanagedOn(device)}</span>}
      </th>
    </tr>
  );
}

function LeaseRow({ ui, lease, chosen }: { ui: Ui; lease: Lease; chosen: boolean }) {
  const state = overview.stateOf(lease, ui.model.queue.length > 0);
  const note = texts.stateNote(lease, state, ui.now);
  const started = timeOf(lease.started);
  return (
    <tr
      class={`row${chosen ? ' chosen' : ''}`}
      data-lease={lease.id}
      onClick={() => ui.open(lease.id)}
    >
      <td class="id">
        <span class="with-swatch">
          <i class={`swatch tall ${hueClass(ui.model, lease.id)}`} />
          {overview.numberOf(lease)}
        </span>
      </td>
      <td class="session">
        <div>
          <a
            class="cut"
            href={`#lease=${lease.id}`}
            onClick={(event) => {
              event.preventDefault();
              event.stopPropagation();
              ui.open(lease.id);
            }}
          >
            {overview.sessionOf(lease)}
          </a>
          {lease.command && <code class="cut command">{lease.command}</code>}
        </div>
      </td>
      <td class="state">
        <span class={`with-sign ${state.tone}`}>
          <SignMark sign={state.sign} />
          {texts.stateWord(lease, state)}
          {note && <span class="third">· {note}</span>}
        </span>
      </td>
      <td class="meter">
        <Meter ui={ui} lease={lease} />
      </td>
      <td class="number figures-cell">
        <b>{gib(lease.vram_used_bytes)}</b>{' '}
        <span class="third peak">/ {gib(lease.vram_peak_bytes)}</span> /{' '}
        {gib(lease.vram_granted_bytes)}
      </td>
      <td class="number age second">{started === null ? dash : duration(ui.now - started)}</td>
      <td class="number left second">{texts.leftText(lease, ui.now)}</td>
      <td class="actions">
        <RowActions ui={ui} lease={lease} />
      </td>
    </tr>
  );
}

/** The small bar: used of granted, with a line at the peak. */
export function Meter({ ui, lease }: { ui: Ui; lease: Lease }) {
  const granted = lease.vram_granted_bytes ?? 0;
  const share = (bytes: number | null) =>
    `${Math.min(100, ((bytes ?? 0) / Math.max(1, granted)) * 100)}%`;
  const known = lease.vram_used_bytes !== null && lease.state !== 'suspended';
  return (
    <span
      class={`small-bar ${known ? hueClass(ui.model, lease.id) : 'unknown'}`}
      aria-hidden="true"
    >
      {known && <i style={{ width: share(lease.vram_used_bytes) }} />}
      {known && lease.vram_peak_bytes !== null && (
        <u style={{ left: share(lease.vram_peak_bytes) }} />
      )}
    </span>
  );
}

const kIcons: Partial<Record<Verb, IconName>> = {
  pause: 'pause',
  resume: 'resume',
  save: 'save',
  message: 'message',
};

function RowActions({ ui, lease }: { ui: Ui; lease: Lease }) {
  const shown = verbsFor(lease, ui.model).filter((verb) => kIcons[verb]);
  return (
    <span class="row-actions">
      {shown.map((verb) => {
        const action = actionOf(verb, lease, ui.model, ui.now);
        const label = `${action.label} ${overview.numberOf(lease)}`;
        return (
          <button
            key={verb}
            class="icon-button"
            title={action.harmless ? label : `${label}…`}
            aria-label={label}
            disabled={!ui.connected}
            onClick={(event) => {
              event.stopPropagation();
              ui.act(action);
            }}
          >
            <Icon name={kIcons[verb] as IconName} />
          </button>
        );
      })}
    </span>
  );
}

const kDay = 24 * 3_600_000;
/** No more often than this, however many end. */
const kAskEveryMs = 5000;

/** The leases that ended within a day; asked for again when one ends. */
export function Ended({ ui, search }: { ui: Ui; search: string }) {
  const [sessions, setSessions] = useState<readonly PastSession[]>([]);
  useAnswers(
    ui.model.ended[0]?.id,
    kAskEveryMs,
    () => askSessions(ui.model.time - kDay),
    (answer) => {
      if (answer.ok) setSessions(answer.value.items);
    },
  );
  return <SessionsTable sessions={sessions} search={search} now={ui.now} />;
}
