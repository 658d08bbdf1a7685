// SPDX-License-Identifier: Apache-2.0
// What a program printed for a terminal, as text: what it wrote over is gone, and so are colours
// and moves of the cursor. Pure.

// CSI, then OSC and the like with their ends, then other sequences of two letters.
const kSequences =
  // eslint-disable-next-line no-control-regex
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[ -/]*[0-~]/g;
const kControls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export function textOfLog(printed: string): string {
  return printed
    .replace(kSequences, '')
    .split('\n')
    .map((line) => writtenOver(line).replace(kControls, '').trimEnd())
    .join('\n');
}

// A bar that draws itself again and again ends as it was drawn last.
function writtenOver(line: string): string {
  const parts = line.split('\r').filter((part) => part !== '');
  let shown = '';
  for (const part of parts) shown = part + shown.slice(part.length);
  return shown;
}
