// SPDX-License-Identifier: Apache-2.0
// What keys do, wherever the focus is. An edge.
import { useEffect } from 'preact/hooks';
import { actionOf, verbsFor } from './actions.ts';
import type { Ui } from './views/ui.ts';

type Keys = {
  ui: Ui;
  /** Closes what is open; null: nothing is. */
  close: (() => void) | null;
  toggleStop(): void;
  toggleHelp(): void;
};

export function useKeys({ ui, close, toggleStop, toggleHelp }: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = event.target as HTMLElement;
      if (at.tagName === 'INPUT' && event.key !== 'Escape') return;
      if (!handled(event.key, at)) return;
      event.preventDefault();
    };
    const handled = (key: string, at: HTMLElement): boolean => {
      if (key === 'Escape') return leave(at, close);
      if (key === '?') toggleHelp();
      else if (close) return false;
      else if (key === '/') document.querySelector<HTMLElement>('.search')?.focus();
      else if (key === 'j' || key === 'k') moveRow(key === 'j' ? 1 : -1);
      else if (key === ' ' && !at.closest('button, a, .plot')) toggleStop();
      else return actOnRow(key, at, ui);
      return true;
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

function leave(at: HTMLElement, close: (() => void) | null): boolean {
  if (close) close();
  else if (at.tagName === 'INPUT') at.blur();
  else return false;
  return true;
}

const kVerbs = { p: 'pause', r: 'resume', s: 'save', x: 'release', m: 'message' } as const;

// Of a lease that has the focus, in the table or in the queue; only what its buttons offer too.
function actOnRow(key: string, at: HTMLElement, ui: Ui): boolean {
  const id = Number(at.closest<HTMLElement>('[data-lease]')?.dataset.lease ?? NaN);
  const lease = ui.model.leases.get(id);
  if (!lease) return false;
  if (key === 'w') {
    ui.open(id);
    return true;
  }
  const verb = kVerbs[key as keyof typeof kVerbs];
  if (!verb || !ui.connected || !verbsFor(lease, ui.model).includes(verb)) return false;
  ui.act(actionOf(verb, lease, ui.model, ui.now));
  return true;
}

function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-lease] a')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}
