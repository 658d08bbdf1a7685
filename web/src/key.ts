// SPDX-License-Identifier: Apache-2.0
// What makes this page's questions those of a session. An edge.
//
// Note [Two secrets]
//
// A browser sends a cookie of 127.0.0.1 to each server of that address, whatever its port: one that
// another user runs would have it. So the cookie opens no more than the page itself; questions need
// a key too, which is kept by origin, port and all, and was told only once: in the answer to the
// code.

const kStored = 'berth-key';
const kHeader = 'Berth-Key';

export function keepKey(key: string): void {
  localStorage.setItem(kStored, key);
}

/** The header that each question carries. */
export function keyHeader(): Record<string, string> {
  return { [kHeader]: localStorage.getItem(kStored) ?? '' };
}
