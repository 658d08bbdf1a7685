// SPDX-License-Identifier: Apache-2.0
// For a browser that has no session, or none any more: the code that `berth dashboard` prints.
import { useState } from 'preact/hooks';
import { openSession } from '../api.ts';
import * as texts from '../texts.ts';

type Props = { wasOpen: boolean; onOpened(): void };

export function SignIn({ wasOpen, onOpened }: Props) {
  const [code, setCode] = useState('');
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    const answer = await openSession(code.trim());
    setBusy(false);
    setCode('');
    setFailure(answer.ok ? null : answer.message);
    if (answer.ok) onOpened();
  };
  return (
    <section class="card whole empty" aria-labelledby="sign-in">
      <h1 id="sign-in">{wasOpen ? texts.signIn.over : texts.signIn.title}</h1>
      <p class="second">{texts.signIn.how}</p>
      <form onSubmit={(event) => void submit(event)}>
        <input
          class="code"
          aria-label={texts.signIn.code}
          placeholder={texts.signIn.code}
          autocomplete="off"
          spellcheck={false}
          maxLength={64}
          value={code}
          onInput={(event) => setCode(event.currentTarget.value)}
        />
        <button class="button main" disabled={busy || code.trim() === ''}>
          {texts.signIn.open}
        </button>
      </form>
      {failure && (
        <p class="critical" role="alert">
          {texts.sentence(failure)}
        </p>
      )}
    </section>
  );
}
