// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SseParser, type SseEvent } from '../src/sse.ts';

const kStream =
  ': a comment\n\nevent: snapshot\nid: 1\ndata: {"a":1}\n\nevent: change\r\ndata: one\r\ndata: two\r\n\r\ndata\n\n';
const kEvents: SseEvent[] = [
  { type: 'snapshot', data: '{"a":1}' },
  { type: 'change', data: 'one\ntwo' },
  { type: 'message', data: '' },
];

test('events as they are written', () => {
  assert.deepEqual(new SseParser().take(kStream), kEvents);
});

test('wherever the pieces are cut', () => {
  for (let size = 1; size < kStream.length; ++size) {
    const parser = new SseParser();
    const heard: SseEvent[] = [];
    for (let at = 0; at < kStream.length; at += size) {
      heard.push(...parser.take(kStream.slice(at, at + size)));
    }
    assert.deepEqual(heard, kEvents, `pieces of ${size}`);
  }
});

test('an event that has not ended is not told', () => {
  assert.deepEqual(new SseParser().take('event: change\ndata: x\n'), []);
});

test('an event without data is none', () => {
  assert.deepEqual(new SseParser().take('event: change\n\ndata: y\n\n'), [
    { type: 'message', data: 'y' },
  ]);
});
