// SPDX-License-Identifier: Apache-2.0
// The head of the page: where one is, whether what is shown is live, who looks; and what is wrong.
import { useEffect, useState } from 'preact/hooks';
import type { AlertRule } from '../wire.ts';
import { clockWithSeconds, timeOf } from '../format.ts';
import { kRanges, type Range } from '../series.ts';
import { isGone, totalsOf } from '../overview.ts';
import * as texts from '../texts.ts';
import { switchTheme } from '../theme.ts';
import { Icon } from './icons.tsx';
import type { Ui } from './ui.ts';

export const kPages = ['overview', 'history', 'alerts'] as const;
export type PageName = (typeof kPages)[number];

type HeadProps = { ui: Ui; stopped: boolean; page: PageName };

export function Head({ ui, stopped, page }: HeadProps) {
  const { model } = ui;
  const firing = model.alerts.filter((rule) => rule.state === 'firing');
  const word = stopped ? texts.connection.stopped : texts.connection[model.connection];
  return (
    <header class="top">
      <div class="inside">
        <div class="brand">
          <Mark />
          <b>{texts.page.name}</b> <span>{model.host}</span>
        </div>
        <nav aria-label={texts.page.pages}>
          {kPages.map((name) => (
            <a key={name} href={`#${name}`} aria-current={name === page ? 'page' : undefined}>
              {texts.page[name]}
              {name === 'alerts' && firing.length > 0 && <b> {firing.length}</b>}
            </a>
          ))}
        </nav>
        <div class="spring" />
        <div class={`connection ${stopped ? 'stopped' : model.connection}`}>
          <i />
          <b>{word}</b>
          <span>{model.time > 0 ? clockWithSeconds(ui.now) : ''}</span>
        </div>
        <button
          class="icon-button"
          aria-label={texts.page.theme}
          title={texts.page.theme}
          onClick={switchTheme}
        >
          <Icon name="theme" />
        </button>
        {model.viewer && (
          <span class="viewer">
            {model.viewer.user} <span class="third">{texts.mayDo(model.viewer)}</span>
          </span>
        )}
      </div>
    </header>
  );
}

function Mark() {
  return (
    <svg class="mark" width="22" height="18" viewBox="0 0 22 18" aria-hidden="true">
      <rect class="mark-1" x="0" y="2" width="9" height="9" rx="2" />
      <rect class="mark-2" x="11" y="5.5" width="5" height="5" rx="1.4" />
      <rect class="mark-3" x="18.2" y="7.2" width="3" height="3.8" rx="1" />
      <path class="mark-4" d="M0 14.5h22" />
    </svg>
  );
}

type BannerProps = { ui: Ui; retryAt: number; onTry(): void };

/** What is wrong with the connection, while it is. */
export function Banner({ ui, retryAt, onTry }: BannerProps) {
  const { model } = ui;
  const [, tick] = useState(0);
  useEffect(() => {
    if (model.connection !== 'lost') return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [model.connection]);
  if (model.connection !== 'lost') return null;
  const nextTry = Math.max(0, retryAt - Date.now());
  const [what, more] = texts.lostText(model.connectionSince, model.time, nextTry);
  return (
    <div class="banner" role="alert">
      <Icon name="critical" />
      <p>
        <b>{what}</b> {more}
      </p>
      <button class="button" onClick={onTry}>
        {texts.tryNow}
      </button>
    </div>
  );
}

type HeroProps = {
  ui: Ui;
  range: Range;
  firstStart: number | null;
  stopped: boolean;
  onRange(range: Range): void;
  onStop(): void;
};

export function Hero({ ui, range, firstStart, stopped, onRange, onStop }: HeroProps) {
  const { model } = ui;
  const totals = totalsOf(model);
  const gone = model.devices.filter(isGone);
  return (
    <div class="hero whole">
      <div>
        <h1>{texts.headline(totals, model.trouble)}</h1>
        <p>
          {model.trouble
            ? texts.sentence(model.trouble)
            : texts.summary(totals, gone, firstStart, ui.now)}
        </p>
      </div>
      <div class="spring" />
      <button class="button" aria-pressed={stopped} onClick={onStop}>
        <Icon name={stopped ? 'resume' : 'pause'} />
        {stopped ? texts.page.goOn : texts.page.stop}
      </button>
      <div class="segments" role="group" aria-label={texts.page.time}>
        {kRanges.map((one) => (
          <button key={one.name} aria-pressed={one === range} onClick={() => onRange(one)}>
            {one.name}
          </button>
        ))}
      </div>
    </div>
  );
}

/** Alerts that hold, the worst first. */
export function Alerts({ ui }: { ui: Ui }) {
  const standing = ui.model.alerts
    .filter((rule) => rule.state === 'firing')
    .flatMap((rule) =>
      rule.standing.filter((one) => one.state === 'firing').map((one) => ({ rule, one })),
    )
    .sort((a, b) => rank(a.rule) - rank(b.rule));
  if (standing.length === 0) return null;
  return (
    <ul class="alerts whole" aria-label={texts.page.alerts}>
      {standing.map(({ rule, one }) => (
        <li
          key={`${rule.name}${one.subject.kind}${one.subject.id}`}
          class={rule.severity}
          role={rule.severity === 'critical' ? 'alert' : undefined}
        >
          <Icon name={rule.severity === 'critical' ? 'critical' : 'warn'} />
          <p>
            {texts.sentence(one.text)}{' '}
            <span class="third">
              {rule.name}, since {clockWithSeconds(timeOf(one.since) ?? 0)}
            </span>
          </p>
          {one.subject.kind === 'lease' && typeof one.subject.id === 'number' && (
            <button class="button" onClick={() => ui.open(one.subject.id as number)}>
              {texts.page.details}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function rank(rule: AlertRule): number {
  return { critical: 0, warn: 1, info: 2 }[rule.severity];
}
