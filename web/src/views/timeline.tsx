// SPDX-License-Identifier: Apache-2.0
// What ran, runs and is expected.
import { useEffect, useRef, useState } from 'preact/hooks';
import { clock } from '../format.ts';
import { numberOf, sessionOf } from '../overview.ts';
import { timelineOf, type Row, type Span, type Timeline as Shown } from '../timeline.ts';
import * as texts from '../texts.ts';
import { hueClass, type Ui } from './ui.ts';

const kRowHeight = 26;
const kTop = 30;
const kLabels = 150;
const kFewLabels = 104;
const kTick = 30 * 60_000;
const kLetter = 6.1;

export function Timeline({ ui }: { ui: Ui }) {
  const into = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    if (!into.current) return;
    const resize = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(280, Math.round(entry.contentRect.width)));
    });
    resize.observe(into.current);
    return () => resize.disconnect();
  }, []);
  const shown = timelineOf(ui.model, ui.now);
  if (shown.groups.length === 0) return null;
  const rows = placed(shown);
  const labels = width < 500 ? kFewLabels : kLabels;
  const x = (time: number) =>
    labels + ((time - shown.from) / (shown.to - shown.from)) * (width - labels - 4);
  const height = kTop + rows.length * kRowHeight + 6;
  return (
    <section class="card timeline" aria-labelledby="timeline">
      <div class="head">
        <h2 id="timeline">{texts.timeline.title}</h2>
        <span>{texts.timeline.sub}</span>
        <div class="spring" />
        <Key />
      </div>
      <div class="timeline-body" ref={into}>
        <svg width={width} height={height} role="img" aria-label={described(shown)}>
          <defs>
            <linearGradient id="fading">
              <stop offset="0" stop-color="#fff" />
              <stop offset="1" stop-color="#fff" stop-opacity="0" />
            </linearGradient>
            <mask id="fade" maskContentUnits="objectBoundingBox">
              <rect width="1" height="1" fill="url(#fading)" />
            </mask>
          </defs>
          <Grid shown={shown} x={x} height={height} />
          {rows.map((row, i) =>
            typeof row === 'string' ? (
              <text key={row} class="heading" x="0" y={kTop + i * kRowHeight + 16}>
                {row}
              </text>
            ) : (
              <Bar
                key={row.lease.id}
                ui={ui}
                row={row}
                shown={shown}
                x={x}
                top={kTop + i * kRowHeight}
                labels={labels}
                width={width}
              />
            ),
          )}
          <Now at={x(shown.now)} time={shown.now} height={height} />
        </svg>
      </div>
    </section>
  );
}

// Headings and rows, from the top. Without devices there are no headings.
function placed(shown: Shown): (string | Row)[] {
  return shown.groups.flatMap(({ device, rows }) => [
    ...(device === null
      ? rows[0]?.lease.state === 'waiting'
        ? [texts.queue.title]
        : []
      : [texts.deviceName(device)]),
    ...rows,
  ]);
}

function Key() {
  return (
    <p class="key" aria-hidden="true">
      {(['ran', 'expected', 'waits', 'suspended'] as const).map((kind) => (
        <span key={kind}>
          <i class={`swatch key-${kind}`} />
          {texts.timeline[kind]}
        </span>
      ))}
    </p>
  );
}

// The picture in words, for whom it is none.
function described(shown: Shown): string {
  return shown.groups
    .flatMap((group) => group.rows)
    .map((row) => {
      const end = row.spans[row.spans.length - 1];
      if (!end) return `${row.label}: ${texts.timeline.noStart}`;
      if (end.kind === 'waits') return `${row.label}: ${texts.startsAt(end.from)}`;
      if (end.kind === 'suspended') return `${row.label}: ${texts.timeline.untilResumed}`;
      return `${row.label}: ${clock(row.spans[0]?.from ?? 0)} – ${end.to === null ? texts.timeline.noEnd : clock(end.to)}`;
    })
    .join('; ');
}

type X = (time: number) => number;

function Grid({ shown, x, height }: { shown: Shown; x: X; height: number }) {
  const ticks: number[] = [];
  for (let at = Math.ceil(shown.from / kTick) * kTick; at < shown.to; at += kTick) ticks.push(at);
  return (
    <g class="grid">
      {ticks.map((at) => (
        <g key={at}>
          <path d={`M${Math.round(x(at)) + 0.5} 22V${height}`} />
          {Math.abs(x(at) - x(shown.now)) > 56 && shown.to - at > kTick / 4 && (
            <text x={x(at)} y={13} text-anchor="middle">
              {clock(at)}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

function Now({ at, time, height }: { at: number; time: number; height: number }) {
  return (
    <g class="now">
      <path d={`M${at} 20V${height - 2}`} />
      <rect x={at - 34} y="0" width="68" height="19" rx="5" />
      <text x={at} y="13" text-anchor="middle">{`now ${clock(time)}`}</text>
    </g>
  );
}

type BarProps = {
  ui: Ui;
  row: Row;
  shown: Shown;
  x: X;
  top: number;
  /** Of the labels, and of all. */
  labels: number;
  width: number;
};

function Bar({ ui, row, shown, x, top, labels, width }: BarProps) {
  const label = labelIn(labels, row);
  const end = row.spans[row.spans.length - 1];
  const from = end
    ? x(Math.min(shown.to, Math.max(shown.now, end.to ?? end.from))) + 8
    : x(shown.now) + 8;
  const note = noteOf(row);
  return (
    <g class={hueClass(ui.model, row.lease.id)} onClick={() => ui.open(row.lease.id)}>
      <text class="label" x="0" y={top + 16}>
        {label}
      </text>
      {row.spans.map((span, i) => (
        <Part key={i} span={span} shown={shown} x={x} top={top + 4} />
      ))}
      {from + note.length * kLetter < width && (
        <text class="note-text" x={from} y={top + 16}>
          {note}
        </text>
      )}
    </g>
  );
}

// Where there is little room, whose it is is left out.
function labelIn(width: number, row: Row): string {
  const fits = Math.floor((width - 12) / kLetter);
  if (row.label.length <= fits) return row.label;
  const short = `${numberOf(row.lease)} ${row.lease.name ?? sessionOf(row.lease)}`;
  return short.length <= fits ? short : `${short.slice(0, fits - 1)}…`;
}

function noteOf(row: Row): string {
  const end = row.spans[row.spans.length - 1];
  if (!end) return row.lease.state === 'waiting' ? texts.timeline.noStart : '';
  if (end.kind === 'waits') return '';
  if (end.kind === 'suspended') return texts.timeline.untilResumed;
  if (row.lease.state === 'ended') return row.lease.result ?? '';
  return '';
}

function Part({ span, shown, x, top }: { span: Span; shown: Shown; x: X; top: number }) {
  const from = x(Math.max(shown.from, span.from));
  const to = x(Math.min(shown.to, span.to ?? shown.to));
  const width = Math.max(2, to - from - 1);
  if (to < from) return null;
  if (span.kind === 'suspended') return <path class="suspended" d={`M${from} ${top + 8}H${to}`} />;
  const fades = span.to === null;
  return (
    <>
      <rect
        class={fades ? `${span.kind} fades` : span.kind}
        mask={fades && span.kind === 'expected' ? 'url(#fade)' : undefined}
        x={from}
        y={top}
        width={width}
        height="16"
        rx="3"
      />
      {span.kind === 'waits' && width > 84 && (
        <text class="note-text" x={from + 8} y={top + 12}>
          {texts.startsAt(span.from)}
        </text>
      )}
      {span.kind === 'expected' && fades && width > 110 && (
        <text class="note-text" x={from + 10} y={top + 12}>
          {texts.timeline.noEnd}
        </text>
      )}
    </>
  );
}
