#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what happens on three terminals of a simulated machine, and writes it as one SVG that
moves: a lease, a request that waits for it, and why. Everything in it is typed into real shells.

Usage: cast.py OUTPUT.svg, with the programs of the build first in PATH.
"""
import html
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tests/cli'))
from terminal_screen import Terminal  # noqa: E402 (the path is ours)

COLUMNS = 92
PANES = [('one terminal', 6), ('another', 6), ('a third', 9)]
CELL, LINE, HEAD, EDGE = 7.85, 18, 24, 14
COLOURS = {'31': '#e5534b', '32': '#57ab5a', '33': '#c69026', '34': '#539bf5', '35': '#b083f0',
           '36': '#39c5cf'}


def world():
    """A fresh simulated machine for the processes of this one."""
    place = tempfile.mkdtemp(prefix='bc.', dir='/tmp')
    for name in ('run', 'home'):
        os.mkdir(f'{place}/{name}', 0o700)
    for name in list(os.environ):
        if name.startswith(('BERTH_', 'XDG_', 'CUDA_')):
            del os.environ[name]
    os.environ.update(HOME=f'{place}/home', XDG_STATE_HOME=f'{place}/state',
                      XDG_CONFIG_HOME=f'{place}/config', BERTH_RUNTIME_DIR=f'{place}/run',
                      BERTH_SIM='1x16GiB:RTX-5080', BERTH_SIM_NAME=place[-6:], PS1='$ ',
                      LC_ALL='C.UTF-8')
    return place


class Recorder:
    def __init__(self):
        self.panes = [Terminal(COLUMNS, rows, 'bash', '--norc', '--noprofile', '--noediting', '-i',
                               TERM='xterm') for _, rows in PANES]
        self.frames = []  # (seconds, what is shown)
        self.begin = None

    def look(self, seconds):
        end = time.monotonic() + seconds
        while True:
            for pane in self.panes:
                pane.read(0.01)
            shown = [row for pane in self.panes for row in rows_of(pane)]
            now = time.monotonic()
            if self.begin is not None and (not self.frames or self.frames[-1][1] != shown):
                self.frames.append((now - self.begin, shown))
            if now >= end:
                return

    def start(self):
        self.look(0.6)
        self.begin = time.monotonic()
        self.look(0.5)

    def type(self, pane, command, then):
        for letter in command:
            self.panes[pane].keys(letter)
            self.look(0.045)
        self.panes[pane].keys('\r')
        self.look(then)


def rows_of(pane):
    """Each row as runs of (text, style)."""
    rows = []
    for cells, styles in zip(pane.cells, pane.styles):
        runs = []
        for letter, style in zip(cells, styles):
            if runs and runs[-1][1] == style:
                runs[-1][0] += letter
            else:
                runs.append([letter, style])
        rows.append(tuple((text, style) for text, style in runs))
    return rows


def text_of(row, y):
    parts = []
    column = 0
    for text, style in row:
        if text.strip():
            fill = next((COLOURS[one] for one in style.split(';') if one in COLOURS), None)
            dim = '2' in style.split(';')
            kind = f' fill="{fill}"' if fill else ' class="d"' if dim else ''
            lead = len(text) - len(text.lstrip())
            parts.append(f'<tspan x="{EDGE + (column + lead) * CELL:.1f}"{kind}>'
                         f'{html.escape(text.strip())}</tspan>')
        column += len(text)
    return f'<text y="{y}">{"".join(parts)}</text>' if parts else ''


def frame_of(shown):
    lines, y, row = [], EDGE, 0
    for _, rows in PANES:
        y += HEAD
        for _ in range(rows):
            y += LINE
            lines.append(text_of(shown[row], y))
            row += 1
        y += EDGE
    return ''.join(lines)


def svg_of(frames, hold=5.0):
    width = COLUMNS * CELL + 2 * EDGE
    height = EDGE + sum(HEAD + rows * LINE + EDGE for _, rows in PANES)
    total = frames[-1][0] + hold
    keys, groups = [], []
    for i, (begin, shown) in enumerate(frames):
        end = frames[i + 1][0] if i + 1 < len(frames) else total
        keys.append(f'@keyframes f{i}{{0%,{100 * begin / total:.3f}%{{visibility:hidden}}'
                    f'{100 * begin / total + 0.001:.3f}%,{100 * end / total:.3f}%'
                    '{visibility:visible}'
                    f'{min(100, 100 * end / total + 0.001):.3f}%,100%{{visibility:hidden}}}}')
        groups.append(f'<g style="animation:f{i} {total:.2f}s step-end infinite">'
                      f'{frame_of(shown)}</g>')
    panes, y = [], EDGE
    for name, rows in PANES:
        size = HEAD + rows * LINE + 8
        panes.append(f'<rect x="6" y="{y - 4}" width="{width - 12:.0f}" height="{size}" rx="6" '
                     f'class="p"/><text x="{EDGE}" y="{y + 13}" class="d">{name}</text>')
        y += HEAD + rows * LINE + EDGE
    # Who wants it still is shown the last frame.
    still = ''.join(f'g:nth-of-type({i + 1}){{visibility:hidden}}' for i in range(len(frames) - 1))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            f'width="{width:.0f}" height="{height}" role="img">\n'
            '<title>One lease runs, another request waits for it, and berth why says why</title>\n'
            '<style>text{font:13px ui-monospace,"DejaVu Sans Mono",Menlo,monospace;fill:#d5d9de;'
            'white-space:pre}.d{fill:#8b949e}.p{fill:#161b22;stroke:#30363d}'
            f'{"".join(keys)}@media(prefers-reduced-motion:reduce){{g{{animation:none!important}}'
            f'{still}}}</style>\n'
            f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>{"".join(panes)}\n'
            + '\n'.join(groups) + '\n</svg>\n')


def main():
    place = world()
    recorder = Recorder()
    try:
        subprocess.run(['berth', 'status'], check=True, capture_output=True)
        recorder.start()
        recorder.type(0, 'berth run -m 10G -n train -- vram_user --bytes 8GiB --hold 19s', 2.0)
        recorder.type(1, 'berth run -m 8G -n eval -- vram_user --bytes 6GiB --hold 2s', 2.0)
        recorder.type(2, 'berth why eval', 3.0)
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and 'freed' not in recorder.panes[1].text():
            recorder.look(0.2)
        recorder.look(0.5)
    finally:
        subprocess.run(['berth', 'daemon', 'stop'], check=False, capture_output=True)
        subprocess.run(['rm', '-rf', place], check=True)
    if 'freed' not in recorder.panes[1].text():
        sys.exit('the second program never ran:\n' + recorder.panes[1].text())
    with open(sys.argv[1], 'w', encoding='utf-8') as file:
        file.write(svg_of(recorder.frames))


if __name__ == '__main__':
    main()
