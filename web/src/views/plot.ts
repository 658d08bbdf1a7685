// SPDX-License-Identifier: Apache-2.0
// The canvas of a device's chart: uPlot has axes, cursor and zoom; the stack is painted here.
import uPlot from 'uplot';
import type { Model } from '../live.ts';
import { clock, moment } from '../format.ts';
import { kHues } from '../hues.ts';
import { gapsOf, stacked, timesOf, type Line, type Series } from '../series.ts';
import * as texts from '../texts.ts';
import { markOf } from './icons.tsx';

const kGiB = 1024 ** 3;
const kHeight = 158;
const kBusyHeight = 74;
const kAxisLeft = 34;
/** Of the signs of events, and of the times. */
const kSignsBelow = 22;
const kTimesBelow = 26;
const kTimesGap = 6;
const kSync = 'berth';
const kLetters = 11;
const kEnd = 56;

/** What is painted. The plot reads it at each draw. */
export type Drawn = {
  series: Series;
  model: Model;
  uuid: string;
  capacity: number;
  heldBack: number;
};

export type Plot = {
  memory: uPlot;
  busy: uPlot;
  /** Shows what `drawn` holds now. `moved`: the range is another one, and zoom is forgotten. */
  update(moved: boolean): void;
  destroy(): void;
};

/** `onCursor`: the step under the cursor; null: none. */
export function makePlot(
  into: HTMLElement,
  drawn: () => Drawn,
  onCursor: (step: number | null) => void,
): Plot {
  const width = Math.max(200, into.clientWidth);
  const memory = new uPlot(memoryOptions(width, drawn, onCursor), dataOf(drawn()), into);
  const busy = new uPlot(busyOptions(width, drawn), busyOf(drawn()), into);
  const resize = new ResizeObserver(() => {
    const now = into.clientWidth;
    if (now < 50 || now === memory.width) return;
    memory.setSize({ width: now, height: kHeight });
    busy.setSize({ width: now, height: kBusyHeight });
  });
  resize.observe(into);
  return {
    memory,
    busy,
    update(moved) {
      const zoomed = !moved && isZoomed(memory);
      memory.setData(dataOf(drawn()), !zoomed);
      busy.setData(busyOf(drawn()), !zoomed);
      if (zoomed) memory.redraw(false);
    },
    destroy() {
      resize.disconnect();
      memory.destroy();
      busy.destroy();
    },
  };
}

function isZoomed(plot: uPlot): boolean {
  const times = plot.data[0];
  const { min, max } = plot.scales.x ?? {};
  if (min === undefined || max === undefined || times.length < 2) return false;
  return max - min < ((times[times.length - 1] ?? 0) - (times[0] ?? 0)) * 0.98;
}

function dataOf({ series, heldBack }: Drawn): uPlot.AlignedData {
  return [
    timesOf(series),
    series.granted.map((bytes) => (bytes === null ? null : (bytes + heldBack) / kGiB)),
  ];
}

function busyOf({ series }: Drawn): uPlot.AlignedData {
  return [timesOf(series), [...series.busy]];
}

/** What the style sheets say of the page. */
function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
const colour = style;

function memoryOptions(
  width: number,
  drawn: () => Drawn,
  onCursor: (step: number | null) => void,
): uPlot.Options {
  return {
    width,
    height: kHeight,
    // As the chart below it: their times stand above one another.
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      sync: { key: kSync, setSeries: false },
      drag: { x: true, y: false },
    },
    scales: { x: { time: true }, y: { range: () => [0, roundAbove(drawn().capacity / kGiB)] } },
    axes: [
      {
        size: kSignsBelow,
        grid: { show: false },
        ticks: { show: false },
        values: (_, splits) => splits.map(() => ''),
      },
      {
        size: kAxisLeft,
        gap: 6,
        stroke: () => colour('t3'),
        font: fontOf(kLetters),
        splits: () => quarters(roundAbove(drawn().capacity / kGiB)),
        grid: { stroke: () => colour('line'), width: 1 },
        ticks: { show: false },
      },
    ],
    series: [
      {},
      {
        label: texts.device.granted,
        stroke: () => colour('t1'),
        width: 1.25,
        dash: [4, 3],
        points: { show: false },
        paths: (uPlot.paths.stepped as NonNullable<typeof uPlot.paths.stepped>)({ align: 1 }),
      },
    ],
    hooks: {
      drawAxes: [(plot) => paintStack(plot, drawn())],
      draw: [(plot) => paintEvents(plot, drawn())],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
    },
  };
}

const kMinute = 60;
const kHour = 60 * kMinute;
const kIncrements = [1, 2, 5, 10, 20, 30, 60, 120, 240, 360, 1440, 2880, 7200].map(
  (n) => n * kMinute,
);

/** What letters in a canvas look like: those of the page. */
function fontOf(size: number): string {
  return `${size}px ${style('font')}`;
}

// The times of both charts stand below this one.
function busyOptions(width: number, drawn: () => Drawn): uPlot.Options {
  return {
    width,
    height: kBusyHeight,
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      sync: { key: kSync, setSeries: false },
      drag: { x: true, y: false },
    },
    padding: [8, 8, 0, 0],
    scales: { x: { time: true }, y: { range: () => [0, 100] } },
    axes: [
      {
        size: kTimesBelow,
        gap: kTimesGap,
        stroke: () => colour('t3'),
        grid: { show: false },
        ticks: { show: false },
        font: fontOf(kLetters),
        incrs: kIncrements,
        space: 56,
        values: (plot, splits) => timeLabels(plot, splits),
      },
      {
        size: kAxisLeft,
        gap: 6,
        stroke: () => colour('t3'),
        font: fontOf(kLetters),
        splits: () => [0, 100],
        grid: { stroke: () => colour('line'), width: 1 },
        ticks: { show: false },
      },
    ],
    series: [
      {},
      {
        label: texts.device.busy,
        stroke: () => colour('t2'),
        width: 1.25,
        points: { show: false },
      },
    ],
    hooks: {
      draw: [
        (plot) => {
          paintBusyLabel(plot, drawn());
          paintEnd(plot, drawn());
        },
      ],
    },
  };
}

/** A round figure above the capacity that four steps divide. */
export function roundAbove(gib: number): number {
  for (const top of [1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 120, 144, 160, 192, 256]) {
    if (top >= gib) return top;
  }
  return Math.ceil(gib / 64) * 64;
}

function quarters(top: number): number[] {
  return [0, 1, 2, 3, 4].map((i) => (top * i) / 4);
}

function timeLabels(plot: uPlot, splits: number[]): string[] {
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const last = max * 1000;
  return splits.map((at) => {
    // There the end says what it is.
    if (plot.valToPos(max, 'x') - plot.valToPos(at, 'x') < kEnd) return '';
    return max - min > 30 * kHour
      ? (moment(at * 1000, last).split(',')[0] ?? '')
      : clock(at * 1000);
  });
}

// The areas of leases, the capacity, what is not known, names where they fit.
function paintStack(plot: uPlot, { series, model, capacity }: Drawn): void {
  const { ctx } = plot;
  const ratio = uPlot.pxRatio;
  const x = (step: number) => plot.valToPos((series.start + step * series.step) / 1000, 'x', true);
  const y = (bytes: number) => plot.valToPos(bytes / kGiB, 'y', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  const tops = stacked(series);
  series.lines.forEach((line, i) => {
    const below = i === 0 ? null : (tops[i - 1] ?? null);
    paintArea(ctx, tops[i] ?? [], below, x, y, hueOf(model, line.lease), line.values);
  });
  paintGaps(plot, series, x);
  ctx.strokeStyle = colour('t2');
  ctx.lineWidth = ratio;
  ctx.beginPath();
  const top = Math.round(y(capacity)) + 0.5;
  ctx.moveTo(plot.bbox.left, top);
  ctx.lineTo(plot.bbox.left + plot.bbox.width, top);
  ctx.stroke();
  paintNames(plot, series, tops, x, y);
  ctx.restore();
}

function hueOf(model: Model, lease: Line['lease']): string {
  if (lease === null) return colour('external');
  if (lease === 'others') return colour('external-2');
  const hue = model.hues.get(lease);
  return hue === undefined ? colour('external-2') : colour(`hue-${hue % kHues}`);
}

type Position = (value: number) => number;

function paintArea(
  ctx: CanvasRenderingContext2D,
  top: readonly (number | null)[],
  below: readonly (number | null)[] | null,
  x: Position,
  y: Position,
  hue: string,
  values: readonly (number | null)[],
): void {
  let i = 0;
  while (i < top.length) {
    if (!values[i]) {
      ++i;
      continue;
    }
    let end = i;
    while (end + 1 < top.length && values[end + 1]) ++end;
    const line = new Path2D();
    for (let k = i; k <= end; ++k) line.lineTo(x(k), y(top[k] ?? 0));
    const area = new Path2D(line);
    for (let k = end; k >= i; --k) area.lineTo(x(k), y(below?.[k] ?? 0));
    ctx.fillStyle = hue;
    ctx.globalAlpha = 0.2;
    ctx.fill(area);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = hue;
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    ctx.stroke(line);
    i = end + 1;
  }
}

function paintGaps(plot: uPlot, series: Series, x: Position): void {
  const { ctx } = plot;
  const { top, height } = plot.bbox;
  for (const [first, last] of gapsOf(series)) {
    const left = x(Math.max(0, first - 1));
    const width = x(Math.min(series.count - 1, last + 1)) - left;
    if (width < 3 * uPlot.pxRatio) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.strokeStyle = colour('line-2');
    ctx.lineWidth = uPlot.pxRatio;
    ctx.beginPath();
    for (let at = left - height; at < left + width; at += 6 * uPlot.pxRatio) {
      ctx.moveTo(at, top + height);
      ctx.lineTo(at + height, top);
    }
    ctx.stroke();
    ctx.restore();
    if (width > 60 * uPlot.pxRatio) {
      paintText(
        plot,
        texts.device.noData,
        left + width / 2,
        top + height / 2,
        'center',
        colour('t2'),
      );
    }
  }
}

// A name stands in its area where that is high and long enough.
function paintNames(
  plot: uPlot,
  series: Series,
  tops: (number | null)[][],
  x: Position,
  y: Position,
): void {
  series.lines.forEach((line, i) => {
    if (line.lease === null) return;
    const width = plot.ctx.measureText(line.name).width + 12 * uPlot.pxRatio;
    const at = placeFor(
      line.values,
      tops[i] ?? [],
      i === 0 ? null : (tops[i - 1] ?? null),
      x,
      y,
      width,
    );
    if (at) paintText(plot, line.name, at[0], at[1], 'left', colour('t1'));
  });
}

function placeFor(
  values: readonly (number | null)[],
  top: readonly (number | null)[],
  below: readonly (number | null)[] | null,
  x: Position,
  y: Position,
  width: number,
): [number, number] | null {
  const high = 16 * uPlot.pxRatio;
  for (let i = 2; i < values.length; i += 3) {
    let highest = -Infinity;
    let lowest = Infinity;
    let k = i;
    for (; k < values.length && x(k) - x(i) < width; ++k) {
      if (!values[k]) break;
      highest = Math.max(highest, y(top[k] ?? 0));
      lowest = Math.min(lowest, y(below?.[k] ?? 0));
    }
    if (k < values.length && x(k) - x(i) >= width && lowest - highest > high) {
      return [x(i) + 5 * uPlot.pxRatio, (highest + lowest) / 2];
    }
  }
  return null;
}

function paintText(
  plot: uPlot,
  text: string,
  x: number,
  y: number,
  align: CanvasTextAlign,
  fill: string,
): void {
  const { ctx } = plot;
  // uPlot remembers what it set, and sets it no second time.
  ctx.save();
  ctx.font = fontOf(kLetters * uPlot.pxRatio);
  ctx.textAlign = align;
  ctx.textBaseline = 'middle';
  ctx.fillStyle = fill;
  ctx.fillText(text, x, y);
  ctx.restore();
}

function paintBusyLabel(plot: uPlot, { series }: Drawn): void {
  const { left, top, height } = plot.bbox;
  const ratio = uPlot.pxRatio;
  const isKnown = series.busy.some((value) => value !== null);
  const text = isKnown ? texts.device.busy : texts.device.busyUnknown;
  paintText(plot, text, left + 6 * ratio, top + height - 9 * ratio, 'left', colour('t2'));
}

/** What time it is at the right end, unless that is zoomed out of sight. */
function paintEnd(plot: uPlot, { series, model }: Drawn): void {
  const last = (series.start + (series.count - 1) * series.step) / 1000;
  if ((plot.scales.x?.max ?? 0) < last) return;
  const { left, top, width, height } = plot.bbox;
  const text = model.connection === 'live' ? texts.now : clock(model.time);
  const y = top + height + (kTimesGap + kLetters / 2) * uPlot.pxRatio;
  paintText(plot, text, left + width, y, 'right', colour('t1'));
}

/** Signs under the axis with a dotted line up; those within 8 px become a count. */
function paintEvents(plot: uPlot, { series, model, uuid }: Drawn): void {
  const ratio = uPlot.pxRatio;
  const end = plot.bbox.left + plot.bbox.width;
  const marks: { at: number; verb: string; count: number }[] = [];
  for (const event of model.events) {
    if (event.lease === null || !touches(model, event.lease, uuid, series)) continue;
    const at = plot.valToPos(Date.parse(event.time) / 1000, 'x', true);
    if (at < plot.bbox.left || at > end) continue;
    const last = marks[marks.length - 1];
    if (last && last.at - at < 8 * ratio) ++last.count;
    else marks.push({ at, verb: event.verb, count: 1 });
  }
  for (const mark of marks) paintMark(plot, mark.at, mark.verb, mark.count);
}

function paintMark(plot: uPlot, at: number, verb: string, count: number): void {
  const { ctx } = plot;
  const ratio = uPlot.pxRatio;
  const bottom = plot.bbox.top + plot.bbox.height;
  const tone = verb === 'refuse' ? 'critical' : verb === 'measure' ? 'warn' : 't2';
  ctx.save();
  ctx.strokeStyle = colour(tone);
  ctx.lineWidth = ratio;
  ctx.setLineDash([ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(Math.round(at) + 0.5, plot.bbox.top);
  ctx.lineTo(Math.round(at) + 0.5, bottom + 3 * ratio);
  ctx.stroke();
  ctx.setLineDash([]);
  if (count === 1) {
    ctx.translate(at - 5 * ratio, bottom + 5 * ratio);
    ctx.scale(ratio, ratio);
    ctx.lineWidth = 1.6;
    ctx.stroke(new Path2D(markOf(verb)));
  }
  ctx.restore();
  if (count > 1) paintText(plot, String(count), at, bottom + 10 * ratio, 'center', colour('t2'));
}

function touches(model: Model, lease: number, uuid: string, series: Series): boolean {
  const known = model.leases.get(lease);
  if (known) return known.devices.some((part) => part.uuid === uuid);
  return series.lines.some((line) => line.lease === lease);
}
