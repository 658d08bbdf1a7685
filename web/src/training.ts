// SPDX-License-Identifier: Apache-2.0
// How the loss of a training went, and in which phase. Pure.
import type { Lease, ProgressPoint } from './wire.ts';
import { timeOf } from './format.ts';

export type Course = {
  /** Time in ms since 1970, and loss. */
  losses: [number, number][];
  phases: { name: string; from: number; to: number }[];
  least: number;
  most: number;
};

/** Null where no loss was told. */
export function courseOf(points: readonly ProgressPoint[]): Course | null {
  const losses: [number, number][] = [];
  const phases: Course['phases'] = [];
  for (const point of points) {
    const time = timeOf(point.time);
    if (time === null) continue;
    if (point.loss !== null) losses.push([time, point.loss]);
    const last = phases[phases.length - 1];
    if (last) last.to = time;
    if (point.phase && last?.name !== point.phase) {
      phases.push({ name: point.phase, from: time, to: time });
    }
  }
  if (losses.length === 0) return null;
  const values = losses.map(([, loss]) => loss);
  return { losses, phases, least: Math.min(...values), most: Math.max(...values) };
}

/** Leases whose programs tell of a loss, by number. */
export function trainingsOf(leases: ReadonlyMap<number, Lease>): Lease[] {
  return [...leases.values()]
    .filter((lease) => lease.progress !== null && lease.progress.loss !== null)
    .sort((a, b) => a.id - b.id);
}

/** As people read a loss: four digits that say something. */
export function lossText(loss: number): string {
  const size = Math.abs(loss);
  return size !== 0 && (size < 0.001 || size >= 100_000)
    ? loss.toExponential(2)
    : String(Number(loss.toPrecision(4)));
}
