// SPDX-License-Identifier: Apache-2.0
// Trainings: those that run, and how the loss of one went.
import { useEffect, useState } from 'preact/hooks';
import type { Lease, ProgressPoint } from '../wire.ts';
import { askProgress } from '../api.ts';
import { clock, dash } from '../format.ts';
import { numberOf, sessionOf } from '../overview.ts';
import * as texts from '../texts.ts';
import { courseOf, lossText, trainingsOf, type Course } from '../training.ts';
import { hueClass, type Ui } from './ui.ts';

const kWidth = 552;
const kHeight = 110;
const kLeft = 40;
const kBelow = 20;
const kAskEveryMs = 5000;
const kLetter = 6.5; // Of the name of a phase.

export function Trainings({ ui }: { ui: Ui }) {
  const leases = trainingsOf(ui.model.leases);
  if (leases.length === 0) return null;
  return (
    <section class="card" aria-labelledby="trainings">
      <div class="head">
        <h2 id="trainings">{texts.training.title}</h2>
      </div>
      <div class="scroll">
        <table class="trainings">
          <thead>
            <tr>
              <th scope="col">{texts.training.lease}</th>
              <th scope="col">{texts.training.phase}</th>
              <th scope="col" class="number">
                {texts.training.step}
              </th>
              <th scope="col" class="number">
                {texts.training.loss}
              </th>
            </tr>
          </thead>
          <tbody>
            {leases.map((lease) => (
              <Row key={lease.id} ui={ui} lease={lease} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ ui, lease }: { ui: Ui; lease: Lease }) {
  const { progress } = lease;
  return (
    <tr class={hueClass(ui.model, lease.id)}>
      <td>
        <span class="with-swatch">
          <i class="swatch tall" />
          <a
            href={`#${lease.id}`}
            onClick={(event) => {
              event.preventDefault();
              ui.open(lease.id);
            }}
          >
            {numberOf(lease)} {sessionOf(lease)}
          </a>
        </span>
      </td>
      <td>{progress?.phase ?? dash}</td>
      <td class="number">{progress ? texts.stepOf(progress) : dash}</td>
      <td class="number">
        <b>{progress?.loss == null ? dash : lossText(progress.loss)}</b>
      </td>
    </tr>
  );
}

/** Of one lease, while it is open. */
export function LossChart({ ui, lease }: { ui: Ui; lease: Lease }) {
  const [points, setPoints] = useState<readonly ProgressPoint[]>([]);
  const tells = lease.progress !== null;
  const round = Math.floor(ui.now / kAskEveryMs);
  useEffect(() => {
    if (!tells) return;
    let dropped = false;
    void askProgress(lease.id).then((answer) => {
      if (!dropped && answer.ok) setPoints(answer.value.items);
    });
    return () => {
      dropped = true;
    };
  }, [lease.id, tells, round]);
  const course = courseOf(points);
  if (!course) return null;
  return (
    <section>
      <h3>{texts.training.lossOverTime}</h3>
      <Drawing ui={ui} lease={lease} course={course} />
    </section>
  );
}

function Drawing({ ui, lease, course }: { ui: Ui; lease: Lease; course: Course }) {
  const { losses, phases } = course;
  const from = losses[0]?.[0] ?? 0;
  const to = losses[losses.length - 1]?.[0] ?? 0;
  const last = losses[losses.length - 1]?.[1] ?? 0;
  const span = Math.max(course.most - course.least, Math.abs(course.most) * 1e-6, 1e-12);
  const x = (time: number) =>
    kLeft + (Math.max(0, Math.min(time, to) - from) / Math.max(1, to - from)) * (kWidth - kLeft);
  const y = (loss: number) => 18 + (1 - (loss - course.least) / span) * (kHeight - 24);
  const line = losses
    .map(([time, loss], i) => `${i === 0 ? 'M' : 'L'}${x(time).toFixed(1)} ${y(loss).toFixed(1)}`)
    .join('');
  const phase = phases[phases.length - 1]?.name ?? null;
  return (
    <svg
      class={`lease-chart ${hueClass(ui.model, lease.id)}`}
      viewBox={`0 0 ${kWidth} ${kHeight + kBelow}`}
      role="img"
      aria-label={texts.lossChartLabel(losses[0]?.[1] ?? 0, last, course.least, phase)}
    >
      {phases.map((one, i) => {
        const width = x(one.to) - x(one.from);
        return (
          <g key={i}>
            <rect
              class={i % 2 === 0 ? 'phase' : 'phase other'}
              x={x(one.from)}
              y="0"
              width={Math.max(0, width)}
              height={kHeight}
            />
            {width > one.name.length * kLetter + 8 && (
              <text x={x(one.from) + 4} y="11">
                {one.name}
              </text>
            )}
          </g>
        );
      })}
      <path class="axis" d={`M${kLeft} ${kHeight + 0.5}H${kWidth}`} />
      <path class="line" d={line} />
      <text x={kLeft - 6} y={y(course.most) + 4} text-anchor="end">
        {lossText(course.most)}
      </text>
      {course.most > course.least && (
        <text x={kLeft - 6} y={y(course.least) + 4} text-anchor="end">
          {lossText(course.least)}
        </text>
      )}
      <text x={kLeft} y={kHeight + 16}>
        {clock(from)}
      </text>
      <text x={kWidth} y={kHeight + 16} text-anchor="end">
        {clock(to)}
      </text>
    </svg>
  );
}
