#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of terminal_picture: what stands on a terminal stands in the picture, where it stood."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'terminal_picture.py')


def picture_of(printed, command=None):
    """Of a terminal of 20 columns and 4 lines on which that is printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/it.svg'
        script = command or f"stty -onlcr; printf '{printed}'; sleep 30"
        done = subprocess.run([sys.executable, '-B', PROGRAM, path, '20', '4', '0.8', 'A <title>',
                               'sh', '-c', script], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done
        with open(path, encoding='utf-8') as file:
            return file.read()


def shown(svg):
    """(column, line, text or height, colour) of all that is drawn on the paper."""
    drawn = []
    for one in list(tree.fromstring(svg))[3:]:
        kind = re.sub(r'.*}', '', one.tag)
        column, line = (int(one.get('x')) - 14) // 8, (float(one.get('y')) - 14) // 17
        drawn.append((column, int(line), one.text if kind == 'text' else one.get('height'),
                      one.get('fill')))
    return drawn


class TerminalPicture(unittest.TestCase):
    def test_text_stands_where_it_stood_in_its_colour(self):
        svg = picture_of(r'ab\033[0;38;5;178m c<d\033[0m\033[3;4H\033[0;1mx')
        self.assertEqual(shown(svg), [(0, 0, 'ab', None), (3, 0, 'c<d', '#d7af00'),
                                      (3, 2, 'x', None)])
        self.assertIn('font-weight="bold"', svg)
        self.assertIn('<title>A &lt;title&gt;</title>', svg)

    def test_blocks_are_drawn_to_their_height(self):
        self.assertEqual(shown(picture_of('██▄░')), [
            (0, 0, '17', '#d5d9de'), (2, 0, '8.5', '#d5d9de'), (3, 0, '17', '#d5d9de')])

    def test_what_is_turned_has_its_paper(self):
        self.assertEqual(shown(picture_of(r'\033[0;7mon\033[0m')), [
            (0, 0, '17', '#d5d9de'), (0, 0, 'on', '#0d1117')])

    def test_a_program_that_ends_is_said(self):
        done = picture_of('', 'echo no; exit 3')
        self.assertEqual(done.returncode, 1)
        self.assertIn('sh has ended with 3:\nno', done.stderr)


if __name__ == '__main__':
    unittest.main()
