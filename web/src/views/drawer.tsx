// SPDX-License-Identifier: Apache-2.0
// One lease in full, and what can be done to it.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Lease } from '../wire.ts';
import { actionOf, verbsFor } from '../actions.ts';
import { clockWithSeconds, dash, duration, gib, size, timeOf } from '../format.ts';
import { numberOf, sessionOf, stateOf } from '../overview.ts';
import * as texts from '../texts.ts';
import { lossText } from '../training.ts';
import { Unit } from './device.tsx';
import { EventMark, Icon, SignMark } from './icons.tsx';
import { LeaseChart } from './lease_chart.tsx';
import { Output } from './output.tsx';
import { Reason } from './queue.tsx';
import { LossChart } from './training.tsx';
import { hueClass, type Ui } from './ui.ts';

type Props = { ui: Ui; lease: Lease; onClose(): void; children?: ComponentChildren };

/** Focus goes in and stays; Esc closes it. `children`: what is asked before an action. */
export function Drawer({ ui, lease, onClose, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A question in it has the focus already.
    if (!box.current?.contains(document.activeElement)) box.current?.focus();
  }, [lease.id]);
  const state = stateOf(lease, false);
  return (
    <>
      <div class="scrim" onClick={onClose} />
      <div
        class="drawer"
        role="dialog"
        aria-modal="true"
        aria-labelledby="drawer-title"
        tabIndex={-1}
        ref={box}
        onKeyDown={(event) => box.current && keepFocus(box.current, event)}
      >
        <div class="drawer-top">
          <div class="title">
            <i class={`swatch tall ${hueClass(ui.model, lease.id)}`} />
            <h2 id="drawer-title">
              {numberOf(lease)} {sessionOf(lease)}
            </h2>
            <span class={`with-sign ${state.tone}`}>
              <SignMark sign={state.sign} />
              {texts.stateWord(lease, state)}
            </span>
            <span class="spring" />
            <button class="icon-button" aria-label={texts.page.close} title="Esc" onClick={onClose}>
              <Icon name="close" />
            </button>
          </div>
          <div class="buttons">
            {verbsFor(lease, ui.model).map((verb) => {
              const action = actionOf(verb, lease, ui.model, ui.now);
              return (
                <button
                  key={verb}
                  class={verb === 'release' ? 'button danger' : 'button'}
                  disabled={!ui.connected}
                  onClick={() => ui.act(action)}
                >
                  {action.harmless ? action.label : `${action.label}…`}
                </button>
              );
            })}
          </div>
          {children}
        </div>
        {lease.state === 'waiting' && (
          <section>
            <h3>{texts.drawer.whyWaits}</h3>
            <p class="second">{texts.queueMeta(lease, ui.now)}</p>
            <Reason ui={ui} lease={lease} />
          </section>
        )}
        {lease.state !== 'waiting' && <Figures ui={ui} lease={lease} />}
        {lease.state !== 'waiting' && <LeaseChart ui={ui} lease={lease} />}
        {lease.state !== 'waiting' && <LossChart ui={ui} lease={lease} />}
        {lease.state !== 'waiting' && <Output ui={ui} lease={lease} />}
        {lease.state !== 'waiting' && <Saves ui={ui} lease={lease} />}
        <Messages lease={lease} />
        <Program lease={lease} />
        <History ui={ui} lease={lease} />
      </div>
    </>
  );
}

function keepFocus(box: HTMLElement, event: KeyboardEvent): void {
  if (event.key !== 'Tab') return;
  const all = [
    ...box.querySelectorAll<HTMLElement>('button:not([disabled]), a[href], input, [tabindex="0"]'),
  ];
  const first = all[0];
  const last = all[all.length - 1];
  if (!first || !last) return;
  const at = document.activeElement;
  if (event.shiftKey && (at === first || at === box)) {
    last.focus();
    event.preventDefault();
  } else if (!event.shiftKey && at === last) {
    first.focus();
    event.preventDefault();
  }
}

function Figures({ ui, lease }: { ui: Ui; lease: Lease }) {
  const started = timeOf(lease.started);
  const { progress } = lease;
  return (
    <section>
      <dl class="four">
        <Figure name={texts.drawer.used} value={gib(lease.vram_used_bytes)} unit="GiB" />
        <Figure name={texts.drawer.peak} value={gib(lease.vram_peak_bytes)} unit="GiB" />
        <Figure name={texts.drawer.granted} value={gib(lease.vram_granted_bytes)} unit="GiB" />
        <Figure name={texts.drawer.gpus} value={gpusOf(lease)} />
        <Figure
          name={texts.drawer.age}
          value={started === null ? dash : duration(ui.now - started)}
        />
        <Figure name={texts.drawer.left} value={texts.leftText(lease, ui.now)} />
        {progress && (
          <Figure
            name={texts.drawer.progress}
            value={String(progress.done)}
            unit={texts.ofTotal(progress)}
          />
        )}
        {progress?.loss != null && (
          <Figure
            name={texts.training.loss}
            value={lossText(progress.loss)}
            unit={progress.phase ?? ''}
          />
        )}
        {progress?.loss == null && progress?.phase && (
          <Figure name={texts.training.phase} value={progress.phase} />
        )}
      </dl>
    </section>
  );
}

function Figure({ name, value, unit }: { name: string; value: string; unit?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {unit && value !== dash && <Unit>{unit}</Unit>}
      </dd>
    </div>
  );
}

function gpusOf(lease: Lease): string {
  if (lease.devices.length === 0) return dash;
  return lease.devices.map((part) => (part.index === null ? '?' : String(part.index))).join(', ');
}

function Saves({ ui, lease }: { ui: Ui; lease: Lease }) {
  const { checkpoint } = lease;
  const saved = timeOf(checkpoint?.saved);
  return (
    <section>
      <h3>{texts.drawer.saves}</h3>
      {!checkpoint && <p class="second">{texts.drawer.notAsked}</p>}
      {checkpoint && (
        <dl class="pairs">
          <dt>{texts.drawer.lastSave}</dt>
          <dd>
            {saved === null
              ? texts.drawer.never
              : `${clockWithSeconds(saved)}, ${duration(ui.now - saved)} ago`}
          </dd>
          {checkpoint.last && (
            <>
              <dt>{checkpoint.last.outcome}</dt>
              <dd>{checkpoint.last.detail ?? checkpoint.last.reason}</dd>
            </>
          )}
        </dl>
      )}
    </section>
  );
}

function Messages({ lease }: { lease: Lease }) {
  if (lease.messages.length === 0) return null;
  return (
    <section>
      <h3>{texts.drawer.messages}</h3>
      <dl class="pairs">
        {lease.messages.map((message) => (
          <div key={message.number} class="pair">
            <dt>{message.from ?? 'Berth'}</dt>
            <dd>
              {message.text}
              {message.answer && (
                <span class="third">
                  {' '}
                  — {message.answer}
                  {message.why ? `: ${message.why}` : ''}
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Program({ lease }: { lease: Lease }) {
  const pids = [lease.pid, ...lease.member_pids].filter((pid) => pid !== null);
  return (
    <section>
      <h3>{texts.drawer.program}</h3>
      <dl class="pairs">
        <dt>{texts.drawer.command}</dt>
        <dd>
          {lease.command ? (
            <code>{lease.command}</code>
          ) : (
            <span class="third">{texts.drawer.hidden}</span>
          )}
        </dd>
        <dt>{texts.drawer.processes}</dt>
        <dd>{pids.length > 0 ? pids.join(', ') : dash}</dd>
        {lease.devices.map((part) => (
          <div key={part.uuid} class="pair">
            <dt>{texts.deviceName(part.index ?? -1)}</dt>
            <dd>
              {size(part.vram_used_bytes)} of {size(part.vram_granted_bytes)}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function History({ ui, lease }: { ui: Ui; lease: Lease }) {
  const events = ui.model.events.filter((event) => event.lease === lease.id);
  if (events.length === 0) return null;
  return (
    <section>
      <h3>{texts.drawer.events}</h3>
      <ol class="events inner">
        {events.map((event, i) => (
          <li key={i}>
            <time>{clockWithSeconds(Date.parse(event.time))}</time>
            <EventMark verb={event.verb} />
            <span>{texts.eventText(event)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
