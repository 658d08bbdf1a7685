#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of what a program shows on a terminal of its own, after some seconds, as SVG. Blocks
are drawn as blocks, so that no font has gaps between them.

Usage: terminal_picture.py OUTPUT.svg COLUMNS ROWS SECONDS TITLE COMMAND...
"""
import html
import os
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tests/cli'))
from terminal_screen import Terminal  # noqa: E402 (the path is ours)

CELL, LINE, EDGE = 8, 17, 14
INK, PAPER = '#d5d9de', '#0d1117'
STEPS = (0, 95, 135, 175, 215, 255)
# Which part of its cell a letter fills, from below, and how much of the ink it has.
BLOCKS = {'█': (1, 1), '▓': (1, 0.7), '▒': (1, 0.45), '░': (1, 0.25)}
BLOCKS.update({letter: ((i + 1) / 8, 1) for i, letter in enumerate('▁▂▃▄▅▆▇')})


def colour_of(number):
    """Of the 256 that terminals have, those beyond the first 16."""
    if number >= 232:
        return f'#{8 + 10 * (number - 232):02x}' + f'{8 + 10 * (number - 232):02x}' * 2
    cube = number - 16
    return '#' + ''.join(f'{STEPS[part]:02x}' for part in (cube // 36, cube // 6 % 6, cube % 6))


class Style:
    def __init__(self, parameters):
        self.ink, self.paper, self.bold, self.dim = INK, None, False, False
        numbers = [int(one) for one in parameters.split(';') if one]
        turned = False
        while numbers:
            number = numbers.pop(0)
            if number in (38, 48) and numbers[:1] == [5]:
                colour = colour_of(numbers[1])
                del numbers[:2]
                if number == 38:
                    self.ink = colour
                else:
                    self.paper = colour
            turned = turned or number == 7
            self.bold = self.bold or number == 1
            self.dim = self.dim or number == 2
        if turned:
            self.ink, self.paper = self.paper or PAPER, self.ink


def runs_of(cells, styles):
    """(column, text, style): what stands side by side and looks alike; each block by itself."""
    runs = []
    for column, (letter, style) in enumerate(zip(cells, styles)):
        last = runs[-1] if runs else None
        if last and last[2] == style and (letter in BLOCKS) == (last[1][-1] in BLOCKS):
            if letter not in BLOCKS or letter == last[1][-1]:
                last[1] += letter
                continue
        runs.append([column, letter, style])
    return runs


def svg_of_run(column, text, style, top):
    look = Style(style)
    left, width, parts = EDGE + column * CELL, len(text) * CELL, []
    if look.paper:
        parts.append(f'<rect x="{left}" y="{top}" width="{width}" height="{LINE}" '
                     f'fill="{look.paper}"/>')
    if text[0] in BLOCKS:
        part, strength = BLOCKS[text[0]]
        high = round(part * LINE, 1)
        parts.append(f'<rect x="{left}" y="{top + LINE - high:g}" width="{width}" '
                     f'height="{high:g}" fill="{look.ink}" opacity="{strength}"/>')
    elif text.strip():
        lead = len(text) - len(text.lstrip())
        shown = text.strip()
        extra = (' font-weight="bold"' if look.bold else '') + (' opacity=".6"' if look.dim else '')
        fill = '' if look.ink == INK else f' fill="{look.ink}"'
        parts.append(f'<text x="{left + lead * CELL}" y="{top + 13}" '
                     f'textLength="{len(shown) * CELL}"{fill}{extra}>{html.escape(shown)}</text>')
    return ''.join(parts)


def svg_of(terminal, title):
    width = terminal.columns * CELL + 2 * EDGE
    height = terminal.rows * LINE + 2 * EDGE
    rows = [''.join(svg_of_run(column, text, style, EDGE + i * LINE)
                    for column, text, style in runs_of(*row))
            for i, row in enumerate(zip(terminal.cells, terminal.styles))]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">\n<title>{html.escape(title)}</title>\n'
            '<style>text{font:13px ui-monospace,"DejaVu Sans Mono",Menlo,monospace;'
            f'white-space:pre}}svg{{fill:{INK}}}</style>\n'
            f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
            + '\n'.join(row for row in rows if row) + '\n</svg>\n')


def main():
    output, columns, rows, seconds, title, *command = sys.argv[1:]
    terminal = Terminal(int(columns), int(rows), *command)
    if not terminal.read(float(seconds)):
        sys.exit(f'{command[0]} has ended with {terminal.status}:\n{terminal.text()}')
    os.kill(terminal.child, signal.SIGTERM)
    with open(output, 'w', encoding='utf-8') as file:
        file.write(svg_of(terminal, title))


if __name__ == '__main__':
    main()
