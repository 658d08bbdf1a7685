// SPDX-License-Identifier: Apache-2.0
// What a job has printed, as it comes, once somebody asks for it.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JobLog, Lease } from '../wire.ts';
import { askLog, type Answer } from '../api.ts';
import { textOfLog } from '../log_text.ts';
import * as texts from '../texts.ts';
import type { Ui } from './ui.ts';

const kAskEveryMs = 2000;
const kNearEnd = 24; // Pixels: who reads further up is not moved on.

export function Output({ ui, lease }: { ui: Ui; lease: Lease }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [lease.id]);
  // Another's output is not theirs to read.
  if (!lease.job || lease.user_id !== ui.model.viewer?.user_id) return null;
  return (
    <section>
      <h3>{texts.output.title}</h3>
      {isOpen ? (
        <Followed lease={lease} />
      ) : (
        <button class="button" disabled={!ui.connected} onClick={() => setOpen(true)}>
          {texts.output.show}
        </button>
      )}
    </section>
  );
}

function Followed({ lease }: { lease: Lease }) {
  const answer = useLog(lease.id);
  const box = useRef<HTMLPreElement>(null);
  const wasAtEnd = useRef(true);
  useEffect(() => {
    if (box.current && wasAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [answer]);
  if (!answer) return <p class="second">{texts.output.reading}</p>;
  if (!answer.ok) {
    return (
      <p class="second" role="status">
        {texts.sentence(answer.message)}
      </p>
    );
  }
  const log = answer.value;
  const text = textOfLog(log.text);
  return (
    <>
      <p class="second">{texts.outputNote(log)}</p>
      {text !== '' && (
        <pre
          class="output"
          tabIndex={0}
          role="log"
          aria-label={texts.output.title}
          ref={box}
          onScroll={(event) => {
            const at = event.currentTarget;
            wasAtEnd.current = at.scrollTop + at.clientHeight > at.scrollHeight - kNearEnd;
          }}
        >
          {text}
        </pre>
      )}
    </>
  );
}

function useLog(lease: number): Answer<JobLog> | null {
  const [answer, setAnswer] = useState<Answer<JobLog> | null>(null);
  useEffect(() => {
    let dropped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      const read = await askLog(lease);
      if (dropped) return;
      setAnswer(read);
      if (read.ok && !read.value.over) timer = setTimeout(() => void next(), kAskEveryMs);
    };
    const next = read;
    void read();
    return () => {
      dropped = true;
      clearTimeout(timer);
    };
  }, [lease]);
  return answer;
}
