// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system has it, until the reader chooses. An edge.

type Theme = 'light' | 'dark';

const kStored = 'berth-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

export function startTheme(): void {
  show(chosen() ?? ofSystem());
  system.addEventListener('change', () => {
    if (chosen() === null) show(ofSystem());
  });
}

export function switchTheme(): void {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem(kStored, next);
  show(next);
}

function chosen(): Theme | null {
  const stored = localStorage.getItem(kStored);
  return stored === 'light' || stored === 'dark' ? stored : null;
}

function ofSystem(): Theme {
  return system.matches ? 'dark' : 'light';
}

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}
