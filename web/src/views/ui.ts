// SPDX-License-Identifier: Apache-2.0
// What views may ask of the page.
import type { Action } from '../actions.ts';
import { kHues } from '../hues.ts';
import type { Model } from '../live.ts';

export type Ui = {
  model: Model;
  /** The daemon's clock, in ms since 1970. */
  now: number;
  /** False while disconnected: nothing can be done. */
  connected: boolean;
  open(lease: number): void;
  /** Asks, or does it at once where it is harmless. */
  act(action: Action): void;
  say(text: string): void;
};

/** The class that gives a lease its hue. */
export function hueClass(model: Model, lease: number): string {
  const hue = model.hues.get(lease);
  if (hue === undefined) return 'hue-none';
  return `hue-${hue % kHues}${hue >= kHues ? ' framed' : ''}`;
}
