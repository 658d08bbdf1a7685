// SPDX-License-Identifier: Apache-2.0
// Drawings of 16 and signs of 10 units, in the colour of the text around them.
import type { Sign } from '../overview.ts';

const kIcons = {
  warn: 'M8 2.2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.1',
  critical: 'M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3zM8 4.8v3.8M8 11v.1',
  theme: 'M8 2.2a5.8 5.8 0 1 0 0 11.6zM8 2.2a5.8 5.8 0 0 1 0 11.6',
  save: 'M8 2.5v7M5 6.8l3 3 3-3M2.8 11v1.6c0 .5.4.9.9.9h8.6c.5 0 .9-.4.9-.9V11',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  resume: 'M5 3.2 12.4 8 5 12.8z',
  message: 'M2.5 3.5h11v7.5H7l-3 2.5V11H2.5z',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
} as const;

export type IconName = keyof typeof kIcons;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={kIcons[name]} />
    </svg>
  );
}

const kSigns: Record<Sign, { d: string; filled?: boolean }> = {
  held: { d: 'M5 1a4 4 0 1 0 0 8 4 4 0 0 0 0-8z', filled: true },
  idle: { d: 'M5 1.7a3.3 3.3 0 1 0 0 6.6 3.3 3.3 0 0 0 0-6.6zM5 4.4v1.2' },
  saving: { d: 'M5 .8v5.4M2.4 4 5 6.6 7.6 4M1.5 9h7' },
  suspended: { d: 'M3 1.5v7M7 1.5v7' },
  frozen: { d: 'M5 .8v8.4M1.4 2.9l7.2 4.2M8.6 2.9 1.4 7.1' },
  moving: { d: 'M.8 5h8M6 2.2 8.8 5 6 7.8' },
  waiting: { d: 'M1.2 1.2h2M6.8 1.2h2v2M8.8 6.8v2h-2M3.2 8.8h-2v-2M1.2 3.2v-2' },
  full: { d: 'M1.2 1.2h7.6v7.6H1.2zM3.4 5h3.2' },
  ending: { d: 'M1.8 1.8h6.4v6.4H1.8z', filled: true },
};

export function SignMark({ sign }: { sign: Sign }) {
  const { d, filled } = kSigns[sign];
  return (
    <svg class={filled ? 'sign filled' : 'sign'} viewBox="0 0 10 10" aria-hidden="true">
      <path d={d} />
    </svg>
  );
}

const kMarks: Record<string, string> = {
  grant: 'M1 5l3 3 5-6',
  end: 'M1.8 1.8h6.4v6.4H1.8z',
  refuse: 'M1.5 1.5l7 7M8.5 1.5l-7 7',
  measure: 'M5 1 9.3 9H.7z',
  checkpoint: 'M5 .8v5.4M2.4 4 5 6.6 7.6 4M1.5 9h7',
  pause: 'M3 1.5v7M7 1.5v7',
  resume: 'M3 1.6 8 5 3 8.4z',
};

/** The path of an event's sign; a dot for those without one of their own. */
export function markOf(verb: string): string {
  return kMarks[verb] ?? 'M5 3.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2z';
}

export function EventMark({ verb }: { verb: string }) {
  return (
    <svg class={`sign mark-${verb}`} viewBox="0 0 10 10" aria-hidden="true">
      <path d={markOf(verb)} />
    </svg>
  );
}
