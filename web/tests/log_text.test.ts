// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOfLog } from '../src/log_text.ts';

test('colours, titles and moves of the cursor are no text', () => {
  assert.equal(textOfLog('\u001b[1;31mbad\u001b[0m\n'), 'bad\n');
  assert.equal(textOfLog('\u001b]0;title\u0007ok \u001b]8;;http://x\u001b\\link'), 'ok link');
  assert.equal(textOfLog('\u001b(Bplain\u001b[K\u001b[2J\u001b7'), 'plain');
  assert.equal(textOfLog('a\u0000b\u0007c\u009bd'), 'abcd');
  assert.equal(textOfLog('\u001b]0;never ended'), '');
});

test('a bar that draws itself again is shown as it was drawn last', () => {
  assert.equal(textOfLog('  10%|#   \r  50%|##  \r 100%|####\nnext'), ' 100%|####\nnext');
  assert.equal(textOfLog('long line\rnew\n'), 'newg line\n');
  assert.equal(textOfLog('windows\r\nlines\r\n'), 'windows\nlines\n');
});

test('text of all kinds stays, and so do tabs and empty lines', () => {
  assert.equal(textOfLog('café\t日本\n\n<b>x</b>\n'), 'café\t日本\n\n<b>x</b>\n');
});
