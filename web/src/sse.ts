// SPDX-License-Identifier: Apache-2.0
// Server-sent events, out of the pieces in which they come. Pure.
// Source: HTML Living Standard, 9.2.6 Interpreting an event stream; of its fields event and data.

export type SseEvent = { type: string; data: string };

export class SseParser {
  private rest = '';
  private type = '';
  private data: string[] = [];

  /** The events that end in this piece. */
  take(piece: string): SseEvent[] {
    // A line end may be parted: its first half waits for the other.
    const text = this.rest + piece;
    const whole = text.endsWith('\r') ? text.slice(0, -1) : text;
    const lines = whole.split(/\r\n|\r|\n/);
    this.rest = (lines.pop() ?? '') + text.slice(whole.length);
    return lines.flatMap((line) => this.line(line) ?? []);
  }

  private line(line: string): SseEvent | null {
    if (line === '') return this.end();
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.type = value;
    if (field === 'data') this.data.push(value);
    return null;
  }

  private end(): SseEvent | null {
    const event =
      this.data.length > 0 ? { type: this.type || 'message', data: this.data.join('\n') } : null;
    this.type = '';
    this.data = [];
    return event;
  }
}
