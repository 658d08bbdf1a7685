// SPDX-License-Identifier: Apache-2.0
// The page of alerts: each rule, whether it holds, whom it tells, and a test of that.
import { useState } from 'preact/hooks';
import type { AlertRule } from '../wire.ts';
import { testAlert } from '../api.ts';
import { clockWithSeconds, joined, timeOf } from '../format.ts';
import * as texts from '../texts.ts';
import { Doctor } from './doctor.tsx';
import type { Ui } from './ui.ts';

export function AlertsPage({ ui }: { ui: Ui }) {
  const rules = [...ui.model.alerts].sort((a, b) => a.name.localeCompare(b.name));
  return (
    <>
      <div class="hero whole">
        <div>
          <h1>{texts.alerts.title}</h1>
          <p>{texts.alerts.sub}</p>
        </div>
      </div>
      <section class="card whole" aria-label={texts.alerts.title}>
        {rules.length === 0 && <p class="nothing">{texts.alerts.none}</p>}
        <ul class="rules">
          {rules.map((rule) => (
            <Rule key={rule.name} ui={ui} rule={rule} />
          ))}
        </ul>
      </section>
      <Doctor ui={ui} />
    </>
  );
}

function Rule({ ui, rule }: { ui: Ui; rule: AlertRule }) {
  const [outcome, setOutcome] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const since = timeOf(rule.since);
  const test = async () => {
    setBusy(true);
    const answer = await testAlert(rule.name);
    setBusy(false);
    setOutcome(answer.ok ? texts.testOutcome(answer.value.items) : answer.message);
  };
  const tone = rule.state === 'firing' ? (rule.severity === 'critical' ? 'critical' : 'warn') : '';
  return (
    <li>
      <div class="rule">
        <b>{rule.name}</b>
        <code>{rule.when}</code>
        <span class={tone}>
          {rule.state}
          {since !== null && `, ${texts.alerts.since} ${clockWithSeconds(since)}`}
        </span>
        <span class="third">{texts.tells(joined(rule.channels))}</span>
        <span class="spring" />
        {ui.model.viewer?.may_act && (
          <button class="button" disabled={busy || !ui.connected} onClick={() => void test()}>
            {texts.alerts.test}
          </button>
        )}
      </div>
      {rule.standing.map((one) => (
        <p key={`${one.subject.kind}${one.subject.id}`} class="second">
          {texts.sentence(one.text)}
        </p>
      ))}
      {rule.undelivered > 0 && <p class="warn">{texts.undelivered(rule.undelivered)}</p>}
      {outcome && <p role="status">{texts.sentence(outcome)}</p>}
    </li>
  );
}
