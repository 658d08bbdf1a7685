// SPDX-License-Identifier: Apache-2.0
// What is asked before an action: what will happen, its command, the way out.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Action } from '../actions.ts';
import * as texts from '../texts.ts';

type Props = { action: Action; busy: boolean; onYes(action: Action): void; onNo(): void };

export function Ask({ action, busy, onYes, onNo }: Props) {
  const yes = useRef<HTMLButtonElement>(null);
  const isMessage = action.verb === 'message';
  const [text, setText] = useState(String(action.body.text ?? ''));
  useEffect(() => yes.current?.focus(), [action]);
  const chosen = isMessage ? { ...action, body: { text } } : action;
  const command = isMessage ? `berth message ${action.lease} "${text}"` : action.command;
  return (
    <div class="ask" role="group" aria-label={action.question}>
      <p>
        <b>{action.question}</b> {action.effects.join(' ')}
      </p>
      {isMessage && (
        <input
          aria-label={action.question}
          maxLength={280}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <div class="buttons">
        <button
          ref={yes}
          class="button main"
          disabled={busy || (isMessage && text === '')}
          onClick={() => onYes(chosen)}
        >
          {isMessage ? texts.verbs.send : `${action.label} ${action.lease}`}
        </button>
        <button class="button quiet" onClick={onNo}>
          {texts.verbs.leave}
        </button>
        <code>{command}</code>
      </div>
    </div>
  );
}
