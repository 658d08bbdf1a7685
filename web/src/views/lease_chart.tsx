// SPDX-License-Identifier: Apache-2.0
// The memory of one lease since it was granted, beside its budget.
import { useEffect, useState } from 'preact/hooks';
import type { Lease } from '../wire.ts';
import { askLeaseHistory } from '../api.ts';
import { clock, gib, timeOf } from '../format.ts';
import { leasePastOf, stepFor, type LeasePast } from '../lease_past.ts';
import * as texts from '../texts.ts';
import { hueClass, type Ui } from './ui.ts';

const kWidth = 552;
const kHeight = 120;
const kLeft = 30;
const kBelow = 20;
/** Asked again that often while it is open, in its steps. */
const kStepsBetween = 5;

export function LeaseChart({ ui, lease }: { ui: Ui; lease: Lease }) {
  const started = timeOf(lease.started);
  const [past, setPast] = useState<LeasePast | null>(null);
  const step = stepFor(started === null ? 0 : ui.now - started);
  const round = Math.floor(ui.now / (step * kStepsBetween));
  useEffect(() => {
    if (started === null) return;
    let dropped = false;
    void askLeaseHistory(lease.id, started, step).then((answer) => {
      if (!dropped && answer.ok) setPast(leasePastOf(answer.value, started, ui.now));
    });
    return () => {
      dropped = true;
    };
  }, [lease.id, step, round]);
  if (!past || past.runs.length === 0) return null;
  const granted = lease.vram_granted_bytes ?? 0;
  const values = past.runs.flat().map(([, bytes]) => bytes);
  const top = Math.max(granted, ...values) * 1.08;
  const x = (time: number) =>
    kLeft + ((time - past.from) / Math.max(1, past.to - past.from)) * (kWidth - kLeft);
  const y = (bytes: number) => kHeight - (bytes / Math.max(1, top)) * (kHeight - 12);
  return (
    <section>
      <h3>{texts.drawer.memory}</h3>
      <svg
        class={`lease-chart ${hueClass(ui.model, lease.id)}`}
        viewBox={`0 0 ${kWidth} ${kHeight + kBelow}`}
        role="img"
        aria-label={texts.leaseChartLabel(Math.min(...values), Math.max(...values), granted)}
      >
        <path class="axis" d={`M${kLeft} ${kHeight + 0.5}H${kWidth}`} />
        {past.runs.map((run, i) => (
          <Run key={i} run={run} x={x} y={y} />
        ))}
        <path class="dashed" d={`M${kLeft} ${Math.round(y(granted)) + 0.5}H${kWidth}`} />
        <text x={kWidth} y={y(granted) - 5} text-anchor="end">
          {texts.budgetOf(granted)}
        </text>
        <text x={kLeft - 6} y={kHeight + 4} text-anchor="end">
          0
        </text>
        <text x={kLeft - 6} y={y(granted) + 4} text-anchor="end">
          {gib(granted)}
        </text>
        <text x={kLeft} y={kHeight + 16}>
          {clock(past.from)}
        </text>
        <text x={kWidth} y={kHeight + 16} text-anchor="end">
          {clock(past.to)}
        </text>
      </svg>
    </section>
  );
}

type RunProps = { run: [number, number][]; x(time: number): number; y(bytes: number): number };

function Run({ run, x, y }: RunProps) {
  const line = run
    .map(([time, bytes], i) => `${i === 0 ? 'M' : 'L'}${x(time).toFixed(1)} ${y(bytes).toFixed(1)}`)
    .join('');
  const first = run[0];
  const last = run[run.length - 1];
  if (!first || !last) return null;
  const area = `${line}L${x(last[0]).toFixed(1)} ${kHeight}L${x(first[0]).toFixed(1)} ${kHeight}Z`;
  return (
    <>
      <path class="area" d={area} />
      <path class="line" d={line} />
    </>
  );
}
