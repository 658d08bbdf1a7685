// SPDX-License-Identifier: Apache-2.0
// The keys of the page.
import { useEffect, useRef } from 'preact/hooks';
import * as texts from '../texts.ts';

export function Help({ onClose }: { onClose(): void }) {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  return (
    <>
      <div class="scrim" onClick={onClose} />
      <div
        class="help-box card"
        role="dialog"
        aria-modal="true"
        aria-labelledby="help"
        onKeyDown={(event) => {
          if (event.key === 'Tab') event.preventDefault();
        }}
      >
        <h2 id="help">{texts.keysTitle}</h2>
        <dl>
          {texts.keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <button ref={close} class="button" onClick={onClose}>
          {texts.page.close}
        </button>
      </div>
    </>
  );
}
