// SPDX-License-Identifier: Apache-2.0
// The history that the charts of all devices share.
import { useEffect, useState } from 'preact/hooks';
import type { Past } from '../wire.ts';
import { askHistory } from '../api.ts';
import type { Range } from '../series.ts';

export type PastOf = { range: Range; answers: Past[] };

/** Asked for again when the range or the stream is another one. */
export function usePast(range: Range, epoch: string, time: number): PastOf | null {
  const [past, setPast] = useState<PastOf | null>(null);
  useEffect(() => {
    if (epoch === '') return;
    let dropped = false;
    const since = time - range.span;
    void Promise.all([
      askHistory('device', since, range.step),
      askHistory('lease', since, range.step),
    ]).then((answers) => {
      if (dropped) return;
      setPast({ range, answers: answers.flatMap((answer) => (answer.ok ? [answer.value] : [])) });
    });
    return () => {
      dropped = true;
    };
  }, [range, epoch]);
  return past;
}
