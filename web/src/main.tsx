// SPDX-License-Identifier: Apache-2.0
// The page: what is known, what is chosen, and what is asked.
import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { actionOf, type Action } from './actions.ts';
import { send } from './api.ts';
import { Connection } from './connection.ts';
import { useKeys } from './keys.ts';
import { emptyModel, snapshotOf, step, timeNow, type Model, type News } from './live.ts';
import { requestsOf, totalsOf } from './overview.ts';
import { kRanges, type Range } from './series.ts';
import * as texts from './texts.ts';
import { startTheme } from './theme.ts';
import { AlertsPage } from './views/alerts.tsx';
import { Ask } from './views/ask.tsx';
import { Drawer } from './views/drawer.tsx';
import { Help } from './views/help.tsx';
import { HistoryPage } from './views/history.tsx';
import { OverviewPage } from './views/overview.tsx';
import { SignIn } from './views/sign_in.tsx';
import { usePast, type PastOf } from './views/past.ts';
import { useReasons } from './views/queue.tsx';
import { Banner, Head, kPages, type PageName } from './views/top.tsx';
import type { Ui } from './views/ui.ts';

const kToastMs = 8000;

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
  // Before the first paint: it asks while the browser draws the frame.
  useLayoutEffect(() => connection.start(), [connection]);
  return { model, retryAt, take, tryNow: () => connection.tryNow() };
}

function usePage(): PageName {
  const named = () => kPages.find((name) => location.hash === `#${name}`) ?? 'overview';
  const [page, setPage] = useState(named);
  useEffect(() => {
    const onHash = () => setPage(named());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return page;
}

type Toast = { text: string; undo: Action | null };

/** What is asked, and what came of it. */
function useActions(model: Model, now: number, open: (lease: number | null) => void) {
  const [asked, setAsked] = useState<Action | null>(null);
  const [busy, setBusy] = useState(false);
  const [toast, setToast] = useState<Toast | null>(null);
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => setToast(null), kToastMs);
    return () => clearTimeout(timer);
  }, [toast]);
  const carryOut = async (action: Action) => {
    setBusy(true);
    const answer = await send(action);
    setBusy(false);
    setAsked(null);
    if (!answer.ok) {
      setToast({ text: texts.failed(action.label, answer.message), undo: null });
      return;
    }
    const lease = model.leases.get(action.lease);
    const undo = action.undo && lease ? actionOf(action.undo, lease, model, now) : null;
    setToast({ text: action.done, undo });
  };
  const act = (action: Action) => {
    if (action.harmless) {
      void carryOut(action);
      return;
    }
    open(action.lease);
    setAsked(action);
  };
  return { asked, setAsked, busy, toast, setToast, carryOut, act };
}

function App() {
  const live = useModel();
  const page = usePage();
  const [stopped, setStopped] = useState<{ model: Model; now: number } | null>(null);
  const [range, setRange] = useState<Range>(kRanges[1] as Range);
  const [chosen, setChosen] = useState<number | null>(null);
  const [help, setHelp] = useState(false);
  const now = stopped?.now ?? timeNow(live.model, Date.now());
  const model = stopped?.model ?? live.model;
  const actions = useActions(live.model, now, setChosen);
  const past = usePast(range, model.epoch, model.time);
  useReasons(requestsOf(model), reasonsKey(model), (reasons) =>
    live.take({ kind: 'reasons', reasons }),
  );
  useEffect(() => {
    document.title = texts.title(live.model.connection, totalsOf(model));
  });

  const close = () => {
    const row = document.querySelector<HTMLElement>(`[data-lease="${chosen}"] a`);
    setHelp(false);
    setChosen(null);
    actions.setAsked(null);
    row?.focus();
  };
  const ui: Ui & { past: PastOf | null } = {
    model,
    now,
    past,
    connected: live.model.connection === 'live',
    act: actions.act,
    open: (lease) => {
      actions.setAsked(null);
      setChosen(lease);
    },
    say: (text) => actions.setToast({ text, undo: null }),
  };
  const toggleStop = () => setStopped(stopped ? null : { model: live.model, now });
  const lease = chosen === null ? undefined : model.leases.get(chosen);
  useKeys({
    ui,
    close: lease || help ? close : null,
    toggleStop,
    toggleHelp: () => setHelp(!help),
  });
  return (
    <div class={live.model.connection === 'lost' ? 'page offline' : 'page'}>
      <a class="skip" href="#main" onClick={skip}>
        {texts.page.skip}
      </a>
      <Banner ui={{ ...ui, model: live.model }} retryAt={live.retryAt} onTry={live.tryNow} />
      <Head ui={ui} stopped={stopped !== null} page={page} />
      <main id="main" tabIndex={-1}>
        {live.model.connection === 'expired' && <SignIn />}
        {model.epoch !== '' && page === 'history' && <HistoryPage ui={ui} />}
        {model.epoch !== '' && page === 'alerts' && <AlertsPage ui={ui} />}
        {model.epoch !== '' && page === 'overview' && (
          <OverviewPage
            ui={ui}
            range={range}
            chosen={chosen}
            stopped={stopped !== null}
            onRange={setRange}
            onStop={toggleStop}
          />
        )}
      </main>
      <Foot />
      {lease && (
        <Drawer ui={ui} lease={lease} onClose={close}>
          {actions.asked?.lease === lease.id && (
            <Ask
              action={actions.asked}
              busy={actions.busy}
              onYes={(action) => void actions.carryOut(action)}
              onNo={() => actions.setAsked(null)}
            />
          )}
        </Drawer>
      )}
      {help && <Help onClose={close} />}
      <ToastLine toast={actions.toast} act={actions.act} />
    </div>
  );
}

// Not by the address: that says which page is shown.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Foot() {
  return (
    <footer>
      {texts.keysTitle}:
      {texts.keys.map(([key, what]) => (
        <span key={key}>
          <kbd>{key}</kbd> {what}
        </span>
      ))}
    </footer>
  );
}

function ToastLine({ toast, act }: { toast: Toast | null; act(action: Action): void }) {
  const undo = toast?.undo;
  return (
    <div class={toast ? 'toast shown' : 'toast'} role="status">
      {toast && <span>{toast.text}</span>}
      {undo && (
        <button onClick={() => act(undo)}>
          {undo.label} {undo.lease}
        </button>
      )}
    </div>
  );
}

/** Changes when the reasons of waiting can have changed. */
function reasonsKey(model: Model): string {
  if (model.connection !== 'live') return '';
  const room = model.devices.map((device) => device.vram_grantable_bytes).join();
  return `${model.epoch}|${model.queue.join()}|${room}`;
}

startTheme();
const root = document.getElementById('root');
if (root) render(<App />, root);
