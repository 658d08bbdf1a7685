// SPDX-License-Identifier: Apache-2.0
// For a page whose session is over: the code that `berth dashboard` prints. A form, as without the
// page: its answer is a page of its own.
import * as texts from '../texts.ts';

export function SignIn() {
  return (
    <section class="card whole empty" aria-labelledby="sign-in">
      <h1 id="sign-in">{texts.signIn.over}</h1>
      <p class="second">{texts.signIn.how}</p>
      <form method="post" action="/open">
        <input
          class="code"
          name="code"
          aria-label={texts.signIn.code}
          placeholder={texts.signIn.code}
          autocomplete="off"
          spellcheck={false}
          maxLength={64}
          required
        />
        <button class="button main">{texts.signIn.open}</button>
      </form>
    </section>
  );
}
