// SPDX-License-Identifier: Apache-2.0
// The page: what is known, what is chosen, and what is asked.
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { actionOf, type Action } from './actions.ts';
import { send } from './api.ts';
import { Connection } from './connection.ts';
import { timeOf } from './format.ts';
import { emptyModel, step, timeNow, type Model, type News, type Snapshot } from './live.ts';
import { requestsOf, totalsOf, type Filter, type Sort } from './overview.ts';
import { kRanges, type Range } from './series.ts';
import * as texts from './texts.ts';
import { startTheme } from './theme.ts';
import { Ask } from './views/ask.tsx';
import { DeviceCard } from './views/device.tsx';
import { Drawer } from './views/drawer.tsx';
import { Icon } from './views/icons.tsx';
import { Ended, Leases } from './views/leases.tsx';
import { usePast } from './views/past.ts';
import { Queue, useReasons } from './views/queue.tsx';
import { Events, Sets } from './views/side.tsx';
import { Timeline } from './views/timeline.tsx';
import { Alerts, Banner, Head, Hero } from './views/top.tsx';
import type { Ui } from './views/ui.ts';

/** With more than these, cards are small and the chart of the chosen one stands alone. */
const kCardsWithChart = 4;
const kToastMs = 8000;

type Toast = { text: string; undo: Action | null };

type Live = { model: Model; retryAt: number; tryNow(): void; take(news: News): void };

function useModel(): Live {
  const [model, setModel] = useState(() => emptyModel(Date.now()));
  const [retryAt, setRetryAt] = useState(0);
  const known = useRef(model);
  const take = (news: News) => {
    const next = step(known.current, news);
    if (next === null) {
      connection.restart();
      return;
    }
    known.current = next;
    setModel(next);
  };
  const connection = useMemo(
    () =>
      new Connection({ news: take, retry: (inMs) => setRetryAt(Date.now() + inMs) }, () =>
        snapshotOf(known.current),
      ),
    [],
  );
  useEffect(() => connection.start(), [connection]);
  return { model, retryAt, take, tryNow: () => connection.tryNow() };
}

// For a tab that comes later.
function snapshotOf(model: Model): Snapshot | null {
  if (model.viewer === null || model.connection !== 'live') return null;
  return {
    epoch: model.epoch,
    sequence: model.sequence,
    time: new Date(model.time).toISOString(),
    host: model.host,
    viewer: model.viewer,
    simulated: model.simulated,
    trouble: model.trouble,
    devices: [...model.devices],
    leases: [...model.leases.values()],
    queue: [...model.queue],
    alerts: [...model.alerts],
    events: [...model.events],
  };
}

function App() {
  const live = useModel();
  const [stopped, setStopped] = useState<{ model: Model; now: number } | null>(null);
  const [range, setRange] = useState<Range>(kRanges[1] as Range);
  const [filter, setFilter] = useState<Filter>('all');
  const [sort, setSort] = useState<Sort>({ key: 'id', descending: false });
  const [chosen, setChosen] = useState<number | null>(null);
  const [chosenDevice, setChosenDevice] = useState(0);
  const [asked, setAsked] = useState<Action | null>(null);
  const [busy, setBusy] = useState(false);
  const [toast, setToast] = useState<Toast | null>(null);

  const model = stopped?.model ?? live.model;
  const now = stopped?.now ?? timeNow(live.model, Date.now());
  const past = usePast(range, model.epoch, model.time);
  const requests = requestsOf(model);
  useReasons(requests, reasonsKey(model), (reasons) => live.take({ kind: 'reasons', reasons }));
  const first = requests[0] && model.reasons.get(requests[0].id);
  const totals = totalsOf(model);

  useEffect(() => {
    document.title = texts.title(model.connection, totals);
  });
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => setToast(null), kToastMs);
    return () => clearTimeout(timer);
  }, [toast]);

  const open = (lease: number) => {
    setAsked(null);
    setChosen(lease);
  };
  const close = () => {
    const row = document.querySelector<HTMLElement>(`[data-lease="${chosen}"] a`);
    setChosen(null);
    setAsked(null);
    row?.focus();
  };
  const carryOut = async (action: Action) => {
    setBusy(true);
    const answer = await send(action);
    setBusy(false);
    setAsked(null);
    if (!answer.ok) {
      setToast({ text: texts.failed(action.label, answer.message), undo: null });
      return;
    }
    const lease = live.model.leases.get(action.lease);
    const undo = action.undo && lease ? actionOf(action.undo, lease, live.model, now) : null;
    setToast({ text: action.done, undo });
  };
  const act = (action: Action) => {
    if (action.harmless) {
      void carryOut(action);
      return;
    }
    setChosen(action.lease);
    setAsked(action);
  };
  const ui: Ui & { past: typeof past } = {
    model,
    now,
    connected: live.model.connection === 'live',
    open,
    act,
    say: (text) => setToast({ text, undo: null }),
    past,
  };
  const toggleStop = () => setStopped(stopped ? null : { model: live.model, now });
  useKeys({ ui, chosen, close, toggleStop });

  const lease = chosen === null ? undefined : model.leases.get(chosen);
  const fewCards = model.devices.length <= kCardsWithChart;
  return (
    <div class={live.model.connection === 'live' ? 'page' : 'page offline'}>
      <a class="skip" href="#main">
        {texts.page.skip}
      </a>
      <Banner ui={{ ...ui, model: live.model }} retryAt={live.retryAt} onTry={live.tryNow} />
      <Head ui={ui} stopped={stopped !== null} />
      <main id="main" tabIndex={-1}>
        {model.epoch !== '' && (
          <>
            <Hero
              ui={ui}
              range={range}
              firstStart={timeOf(first?.expected_start)}
              stopped={stopped !== null}
              onRange={setRange}
              onStop={toggleStop}
            />
            <Alerts ui={ui} />
            {model.viewer && !model.viewer.may_act && <p class="note whole">{texts.readOnly}</p>}
            {model.devices.map((device, i) => (
              <DeviceCard
                key={device.uuid}
                ui={ui}
                device={device}
                range={range}
                withChart={fewCards || i === chosenDevice}
              />
            ))}
            {!fewCards && (
              <div class="segments whole" role="group" aria-label={texts.device.memory}>
                {model.devices.map((device, i) => (
                  <button
                    key={device.uuid}
                    aria-pressed={i === chosenDevice}
                    onClick={() => setChosenDevice(i)}
                  >
                    {texts.deviceName(device.index)}
                  </button>
                ))}
              </div>
            )}
            {model.leases.size === 0 ? (
              <Empty ui={ui} />
            ) : (
              <>
                <Leases
                  ui={ui}
                  filter={filter}
                  sort={sort}
                  chosen={chosen}
                  onFilter={setFilter}
                  onSort={setSort}
                />
                <Queue ui={ui} waiting={requests} />
              </>
            )}
            <Timeline ui={ui} />
            <div class="side">
              <Sets ui={ui} />
              <Events ui={ui} />
            </div>
          </>
        )}
      </main>
      <footer>
        {texts.keysTitle}:
        {texts.keys.map(([key, what]) => (
          <span key={key}>
            <kbd>{key}</kbd> {what}
          </span>
        ))}
      </footer>
      {lease && (
        <Drawer ui={ui} lease={lease} onClose={close}>
          {asked && asked.lease === lease.id && (
            <Ask action={asked} busy={busy} onYes={carryOut} onNo={() => setAsked(null)} />
          )}
        </Drawer>
      )}
      <div class={toast ? 'toast shown' : 'toast'} role="status">
        {toast && (
          <>
            <span>{toast.text}</span>
            {toast.undo && (
              <button onClick={() => toast.undo && act(toast.undo)}>
                {toast.undo.label} {toast.undo.lease}
              </button>
            )}
          </>
        )}
      </div>
    </div>
  );
}

/** Changes when the reasons of waiting can have changed. */
function reasonsKey(model: Model): string {
  if (model.connection !== 'live') return '';
  const room = model.devices.map((device) => device.vram_grantable_bytes).join();
  return `${model.epoch}|${model.queue.join()}|${room}`;
}

type Keys = { ui: Ui; chosen: number | null; close(): void; toggleStop(): void };

function useKeys({ ui, chosen, close, toggleStop }: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = event.target as HTMLElement;
      if (at.tagName === 'INPUT') {
        if (event.key === 'Escape') at.blur();
        return;
      }
      if (event.key === 'Escape' && chosen !== null) close();
      else if (event.key === '/') document.querySelector<HTMLElement>('.search')?.focus();
      else if (event.key === 'j' || event.key === 'k') moveRow(event.key === 'j' ? 1 : -1);
      else if (event.key === ' ' && !at.closest('button, a, .plot')) toggleStop();
      else if (!actOnRow(event.key, at, ui)) return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

const kKeys = { p: 'pause', r: 'resume', s: 'save', x: 'release', m: 'message' } as const;

function actOnRow(key: string, at: HTMLElement, ui: Ui): boolean {
  const verb = kKeys[key as keyof typeof kKeys];
  const id = Number(at.closest<HTMLElement>('[data-lease]')?.dataset.lease ?? NaN);
  const lease = ui.model.leases.get(id);
  if (!verb || !lease || !ui.connected) return false;
  ui.act(actionOf(verb, lease, ui.model, ui.now));
  return true;
}

function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-lease] a')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}

function Empty({ ui }: { ui: Ui }) {
  return (
    <section class="card whole empty">
      <h2>{texts.empty.title}</h2>
      <p class="second">{texts.emptyText(totalsOf(ui.model))}</p>
      <ul>
        {texts.empty.commands.map(([command, what]) => (
          <li key={command}>
            <span class="command-box">
              <code>{command}</code>
              <button
                class="icon-button"
                aria-label={`${texts.page.copy}: ${command}`}
                title={texts.page.copy}
                onClick={() => {
                  void navigator.clipboard.writeText(command).then(() => ui.say(texts.page.copied));
                }}
              >
                <Icon name="copy" />
              </button>
            </span>
            <span class="second">{what}</span>
          </li>
        ))}
      </ul>
      <div class="before">
        <Ended ui={ui} search="" />
      </div>
    </section>
  );
}

startTheme();
const root = document.getElementById('root');
if (root) render(<App />, root);
