// SPDX-License-Identifier: Apache-2.0
// The chart of a device, for the eye, the keyboard and the ear.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Device, Lease } from '../wire.ts';
import { clockWithSeconds, gib, moment } from '../format.ts';
import { numberOf } from '../overview.ts';
import {
  emptySeries,
  usedAt,
  withHistory,
  withSample,
  type Range,
  type Series,
} from '../series.ts';
import * as texts from '../texts.ts';
import { makePlot, type Drawn, type Plot } from './plot.ts';
import type { PastOf } from './past.ts';
import type { Ui } from './ui.ts';

const kRowsOfTable = 25;

type Props = { ui: Ui & { past: PastOf | null }; device: Device; range: Range };

export function Chart({ ui, device, range }: Props) {
  const into = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const shown = useRef<{ past: PastOf | null; series: Series }>({
    past: null,
    series: emptySeries(range, ui.now),
  });
  const drawn = useRef<Drawn | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const [asTable, setAsTable] = useState(false);

  const isNew = ui.past !== shown.current.past || shown.current.series.step !== range.step;
  if (isNew) {
    const empty = emptySeries(range, ui.now);
    const known = ui.past && ui.past.range === range ? ui.past.answers : [];
    const series = known.reduce(
      (filled, past) =>
        withHistory(
          filled,
          device.uuid,
          past,
          (id, name) => {
            const lease = ui.model.leases.get(id) ?? ui.model.ended.find((one) => one.id === id);
            return lease ? nameOf(lease) : `${id} ${name ?? ''}`.trim();
          },
          new Set(device.leases),
        ),
      empty,
    );
    shown.current = { past: ui.past, series };
  }
  if (ui.connected && ui.now > 0) {
    shown.current.series = withSample(
      shown.current.series,
      device,
      ui.model.leases,
      ui.now,
      nameOf,
    );
  }
  const { series } = shown.current;
  drawn.current = {
    series,
    model: ui.model,
    uuid: device.uuid,
    capacity: device.vram_total_bytes ?? 0,
    heldBack: device.vram_held_back_bytes,
  };

  useEffect(() => {
    if (!into.current) return;
    plot.current = makePlot(into.current, () => drawn.current as Drawn, setCursor);
    return () => plot.current?.destroy();
  }, []);
  useEffect(() => plot.current?.update(isNew));

  const at = cursor ?? series.count - 1;
  const reading = texts.chartReading(
    cursor !== null
      ? clockWithSeconds(series.start + at * series.step)
      : ui.connected
        ? texts.now
        : texts.asOf(ui.now),
    usedAt(series, at),
    series.granted[at] ?? null,
    series.busy[at] ?? null,
  );
  return (
    <div class="chart">
      <div class="chart-head">
        <span class="cut">{texts.device.memory}</span>
        <span class="cut legend">
          <svg width="18" height="8" aria-hidden="true">
            <path d="M0 4.5h18" class="dashed" />
          </svg>
          {texts.device.granted}
        </span>
        <output>{reading}</output>
      </div>
      <div
        class="plot"
        ref={into}
        role="img"
        tabIndex={0}
        aria-label={`${texts.chartLabel(device.index, range.name)} ${reading}`}
        onKeyDown={(event) => {
          if (event.key === 't' || event.key === 'T') setAsTable(!asTable);
          else if (!moveCursor(plot.current, series, at, event)) return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      {asTable && <SeriesTable series={series} now={ui.now} />}
    </div>
  );
}

function nameOf(lease: Lease): string {
  return `${numberOf(lease)} ${lease.name ?? lease.user ?? ''}`.trim();
}

function moveCursor(plot: Plot | null, series: Series, at: number, event: KeyboardEvent): boolean {
  const far = event.shiftKey ? 20 : 4;
  const moves: Record<string, number> = {
    ArrowLeft: at - far,
    ArrowRight: at + far,
    Home: 0,
    End: series.count - 1,
  };
  const to = moves[event.key];
  if (!plot || to === undefined) return false;
  const step = Math.max(0, Math.min(series.count - 1, to));
  const left = plot.memory.valToPos((series.start + step * series.step) / 1000, 'x');
  plot.memory.setCursor({ left, top: 10 });
  plot.busy.setCursor({ left, top: 10 });
  return true;
}

// The last steps, as many as can be read.
function SeriesTable({ series, now }: { series: Series; now: number }) {
  const every = Math.max(1, Math.floor(series.count / kRowsOfTable));
  const steps: number[] = [];
  for (let i = series.count - 1; i >= 0 && steps.length < kRowsOfTable; i -= every) steps.push(i);
  return (
    <div class="scroll">
      <table class="small">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col" class="number">
              Used, GiB
            </th>
            <th scope="col" class="number">
              Granted, GiB
            </th>
            <th scope="col" class="number">
              Busy, %
            </th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr key={step}>
              <td>{moment(series.start + step * series.step, now)}</td>
              <td class="number">{gib(usedAt(series, step))}</td>
              <td class="number">{gib(series.granted[step])}</td>
              <td class="number">{series.busy[step] ?? '—'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
