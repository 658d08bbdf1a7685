// SPDX-License-Identifier: Apache-2.0
// A device: its figures, its bar, its chart.
import type { ComponentChildren } from 'preact';
import type { Device } from '../wire.ts';
import { gib, dash } from '../format.ts';
import {
  isGone,
  numberOf,
  segmentsOf,
  unmanagedPartOf,
  usedByLeases,
  type Segment,
} from '../overview.ts';
import * as texts from '../texts.ts';
import type { Range } from '../series.ts';
import { Icon } from './icons.tsx';
import { Chart } from './chart.tsx';
import type { PastOf } from './past.ts';
import { hueClass, type Ui } from './ui.ts';

type Props = {
  ui: Ui & { past: PastOf | null };
  device: Device;
  range: Range;
  withChart: boolean;
};

export function DeviceCard({ ui, device, range, withChart }: Props) {
  const gone = isGone(device);
  const segments = segmentsOf(device, ui.model.leases);
  const name = texts.deviceName(device.index);
  return (
    <section
      class={`card device${gone ? ' gone' : ''}`}
      aria-label={`${name}, ${device.model ?? ''}`}
    >
      <div class="device-head">
        <h2>{name}</h2>
        <span class="second">{device.model ?? device.uuid}</span>
        <span class="third">{gib(device.vram_total_bytes)} GiB</span>
        {device.simulated && !device.model?.includes(texts.device.simulated) && (
          <span class="third">{texts.device.simulated}</span>
        )}
        <Vitals device={device} gone={gone} />
      </div>
      {gone ? <Gone device={device} /> : <Figures device={device} segments={segments} />}
      {device.overcommitted && !gone && <p class="note critical">{texts.device.overcommitted}</p>}
      <Bar ui={ui} device={device} segments={segments} />
      {withChart && <Chart ui={ui} device={device} range={range} />}
    </section>
  );
}

function Vitals({ device, gone }: { device: Device; gone: boolean }) {
  if (gone) return <p class="vitals critical">{texts.noAnswer}</p>;
  if (device.asleep) return <p class="vitals">{texts.device.asleep}</p>;
  const vitals = texts.vitals(device);
  if (vitals.length === 0) return null;
  return (
    <p class="vitals">
      {vitals.map(([value, unit]) => (
        <span key={unit}>
          <b>{value}</b> {unit}
        </span>
      ))}
      {device.throttle !== null && device.throttle !== 'none' && (
        <span class="warn">{texts.throttled[device.throttle]}</span>
      )}
    </p>
  );
}

function Figures({ device, segments }: { device: Device; segments: Segment[] }) {
  const used = usedByLeases(segments);
  const charged = segments.reduce((sum, one) => sum + (one.kind === 'lease' ? one.bytes : 0), 0);
  const unmanaged = device.vram_unmanaged_bytes === null ? null : unmanagedPartOf(device);
  return (
    <dl class="figures">
      <Figure big name={texts.device.free} bytes={device.vram_grantable_bytes} />
      <Figure swatch="used" name={texts.device.used} bytes={used} />
      <Figure
        swatch="unused"
        name={texts.device.unused}
        bytes={used === null ? null : charged - used}
      />
      <Figure swatch="held-back" name={texts.device.heldBack} bytes={device.vram_held_back_bytes} />
      <Figure swatch="unmanaged" name={texts.device.unmanaged} bytes={unmanaged} />
    </dl>
  );
}

type FigureProps = { name: string; bytes: number | null; swatch?: string; big?: boolean };

function Figure({ name, bytes, swatch, big }: FigureProps) {
  const value = gib(bytes);
  return (
    <div class={big ? 'big' : ''}>
      <dt>
        {swatch && <i class={`swatch ${swatch}`} />}
        {name}
      </dt>
      <dd>
        {value}
        {value !== dash && <Unit>GiB</Unit>}
      </dd>
    </div>
  );
}

export function Unit({ children }: { children: ComponentChildren }) {
  return <span class="unit">{children}</span>;
}

function Gone({ device }: { device: Device }) {
  return (
    <div class="figures lost">
      <dl>
        <Figure big name={texts.device.free} bytes={0} />
      </dl>
      <p class="message">
        <Icon name="critical" />
        <span>{texts.goneText(device, device.leases.length)}</span>
      </p>
    </div>
  );
}

/** To scale, in the order of grant; its labels stand below it where they fit. */
function Bar({ ui, device, segments }: { ui: Ui; device: Device; segments: Segment[] }) {
  const name = texts.deviceName(device.index);
  return (
    <>
      <div class="bar" role="group" aria-label={`Memory of ${name}`}>
        {segments.map((segment) =>
          segment.kind === 'lease' ? (
            <LeaseSegment key={segment.lease.id} ui={ui} segment={segment} />
          ) : (
            <span
              key={segment.kind}
              class={segment.kind.replace('_', '-')}
              style={{ flex: `${segment.bytes} 1 0` }}
            />
          ),
        )}
      </div>
      <div class="bar-labels" aria-hidden="true">
        {segments.map((segment) => (
          <BarLabel
            key={segment.kind === 'lease' ? segment.lease.id : segment.kind}
            segment={segment}
            gone={isGone(device)}
          />
        ))}
      </div>
    </>
  );
}

function LeaseSegment({ ui, segment }: { ui: Ui; segment: Extract<Segment, { kind: 'lease' }> }) {
  const { lease, part, bytes, used } = segment;
  const label = texts.segmentLabel(lease, used, part.vram_granted_bytes);
  const peak = part.vram_peak_bytes;
  return (
    <button
      class={`lease ${hueClass(ui.model, lease.id)}${used === null ? ' unknown' : ''}`}
      style={{ flex: `${bytes} 1 0` }}
      title={label}
      aria-label={label}
      onClick={() => ui.open(lease.id)}
    >
      {used !== null && <i style={{ width: `${(used / bytes) * 100}%` }} />}
      {peak !== null && used !== null && peak <= bytes && (
        <u style={{ left: `${(peak / bytes) * 100}%` }} />
      )}
    </button>
  );
}

function BarLabel({ segment, gone }: { segment: Segment; gone: boolean }) {
  const style = { flex: `${segment.bytes} 1 0` };
  // Nothing is granted on one that does not answer.
  if (segment.kind === 'free' && gone) return <div style={style} />;
  if (segment.kind === 'free') {
    return (
      <div style={style}>
        <div class="wide cut">{texts.device.freeLabel}</div>
        <div class="wide cut">{gib(segment.bytes)}</div>
        <div class="narrow cut">{texts.device.freeShort}</div>
      </div>
    );
  }
  if (segment.kind !== 'lease') return <div style={style} />;
  const { lease, part, used } = segment;
  const figures =
    used === null
      ? `${texts.device.granting} ${gib(part.vram_granted_bytes)}`
      : `${gib(used)} of ${gib(part.vram_granted_bytes)}`;
  return (
    <div style={style}>
      <div class="narrow cut">{numberOf(lease)}</div>
      <div class="wide cut">
        <b>{numberOf(lease)}</b> {lease.name ?? lease.user}
      </div>
      <div class="wide cut">{figures}</div>
    </div>
  );
}
