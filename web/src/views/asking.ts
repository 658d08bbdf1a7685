// SPDX-License-Identifier: Apache-2.0
// Questions that are asked again when something has changed.
import { useEffect, useRef } from 'preact/hooks';

/**
 * Asks when `key` has changed, and no more often than each `everyMs`, however much changes; when
 * `subject` has, at once. An answer counts unless a newer one has come, or the view is gone.
 * `ask`: null: nothing to ask.
 */
export function useAnswers<T>(
  key: unknown,
  everyMs: number,
  ask: (() => Promise<T>) | null,
  take: (answer: T) => void,
  subject: unknown = null,
): void {
  const asked = useRef(0);
  const taken = useRef(0);
  const before = useRef<unknown>(null);
  useEffect(
    () => () => {
      taken.current = Infinity;
    },
    [],
  );
  useEffect(() => {
    if (!ask) return;
    const again = subject === before.current;
    const wait = again ? Math.max(0, asked.current + everyMs - Date.now()) : 0;
    const timer = setTimeout(() => {
      const at = Date.now();
      asked.current = at;
      before.current = subject;
      void ask().then((answer) => {
        if (at < taken.current) return;
        taken.current = at;
        take(answer);
      });
    }, wait);
    return () => clearTimeout(timer);
  }, [key, subject]);
}
