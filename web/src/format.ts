// SPDX-License-Identifier: Apache-2.0
// Figures as people read them. Pure. Unknown is a dash, never 0.

const kKiB = 1024;
const kGiB = kKiB * kKiB * kKiB;
const kSecond = 1000;
const kMinute = 60 * kSecond;
const kHour = 60 * kMinute;
const kDay = 24 * kHour;

export const dash = '—';

/** "9.8": bytes in GiB with one decimal. */
export function gib(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined ? dash : (bytes / kGiB).toFixed(1);
}

/** "9.8 GiB", "310 MiB" below a tenth of a GiB, a dash where unknown. */
export function size(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return dash;
  if (bytes > 0 && bytes < kGiB / 10) return `${Math.max(1, Math.round(bytes / kKiB / kKiB))} MiB`;
  return `${gib(bytes)} GiB`;
}

/** The size as `-m` takes it, no more than there is: "9.1G", "310M". */
export function sizeArgument(bytes: number): string {
  const tenths = Math.floor((bytes / kGiB) * 10);
  return tenths >= 1 ? `${(tenths / 10).toString()}G` : `${Math.floor(bytes / kKiB / kKiB)}M`;
}

/** "12 s", "14 min", "1 h 02 min", "3 d 4 h": two units at most. */
export function duration(ms: number): string {
  if (ms < kMinute) return `${Math.max(0, Math.floor(ms / kSecond))} s`;
  if (ms < kHour) return `${Math.floor(ms / kMinute)} min`;
  if (ms < kDay) {
    const minutes = Math.floor((ms % kHour) / kMinute);
    return `${Math.floor(ms / kHour)} h ${String(minutes).padStart(2, '0')} min`;
  }
  return `${Math.floor(ms / kDay)} d ${Math.floor((ms % kDay) / kHour)} h`;
}

/** "14:02", in the zone of the browser. */
export function clock(time: number): string {
  const date = new Date(time);
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

/** "14:02:31" */
export function clockWithSeconds(time: number): string {
  return `${clock(time)}:${twoDigits(new Date(time).getSeconds())}`;
}

/** "14:02" of the same day, "Nov 28, 14:02" of another. */
export function moment(time: number, now: number): string {
  const date = new Date(time);
  if (date.toDateString() === new Date(now).toDateString()) return clock(time);
  return `${date.toLocaleDateString('en', { month: 'short', day: 'numeric' })}, ${clock(time)}`;
}

/** The time of an answer in ms since 1970; NaN is never returned. */
export function timeOf(text: string | null | undefined): number | null {
  if (text === null || text === undefined) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

/** "1 lease", "3 leases" */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** "12", "12 and 13", "12, 13 and 14" */
export function joined(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
