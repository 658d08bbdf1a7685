// SPDX-License-Identifier: Apache-2.0
// What `berth doctor` finds, when somebody asks.
import { useState } from 'preact/hooks';
import type { DoctorFinding, DoctorReport } from '../wire.ts';
import { askDoctor, type Answer } from '../api.ts';
import { clockWithSeconds, timeOf } from '../format.ts';
import * as texts from '../texts.ts';
import type { Ui } from './ui.ts';

const kTones: Record<string, string> = { fail: 'critical', warn: 'warn' };

export function Doctor({ ui }: { ui: Ui }) {
  const [answer, setAnswer] = useState<Answer<DoctorReport> | null>(null);
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    setAnswer(await askDoctor());
    setBusy(false);
  };
  const time = answer?.ok ? timeOf(answer.value.time) : null;
  return (
    <section class="card whole" aria-labelledby="doctor">
      <div class="head">
        <h2 id="doctor">{texts.doctor.title}</h2>
        <span role="status">
          {busy && texts.doctor.looking}
          {!busy &&
            answer?.ok &&
            time !== null &&
            texts.doctorSum(answer.value.items, clockWithSeconds(time))}
        </span>
        <div class="spring" />
        <button class="button" disabled={busy || !ui.connected} onClick={() => void look()}>
          {texts.doctor.look}
        </button>
      </div>
      {!answer && <p class="nothing">{texts.doctor.sub}</p>}
      {answer && !answer.ok && <p class="nothing">{texts.sentence(answer.message)}</p>}
      {answer?.ok && <Findings findings={answer.value.items} />}
    </section>
  );
}

function Findings({ findings }: { findings: readonly DoctorFinding[] }) {
  const groups = [...new Set(findings.map((one) => one.group))];
  return (
    <div class="findings">
      {groups.map((group) => (
        <section key={group}>
          <h3>{group}</h3>
          <ul>
            {findings
              .filter((one) => one.group === group)
              .map((one, i) => (
                <Finding key={`${one.check}${i}`} finding={one} />
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Finding({ finding }: { finding: DoctorFinding }) {
  const isFine = finding.level === 'ok' || finding.level === 'skip';
  return (
    <li class={isFine ? 'second' : ''}>
      <b class={kTones[finding.level] ?? 'third'}>{finding.level}</b>
      <div>
        {finding.fact}
        {finding.consequence && <div class="second">{finding.consequence}</div>}
        {finding.cure && (
          <div>
            <code>{finding.cure}</code>
          </div>
        )}
      </div>
    </li>
  );
}
