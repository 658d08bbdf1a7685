#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tests/chaos/look_figures.py: each figure of a view that is not what the daemon answers
is found, and one that is missing too."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tests/chaos'))
import look_figures  # noqa: E402

GIB = 1 << 30
TOP = '''\
 berth  vm  20:30:46  simulated            3.5 GiB free to grant  2 held  1 suspended  1 wait
 GPU 0  GPU                                             used 6.1  granted 12.0 of 16.0 GiB
 ▕████████████████░░░░░░░░░░░██████████████████████████░░▒▒▒······▏  3.5 GiB free to grant
  ID  SESSION   STATE  GPU  GiB used/peak/granted  AGE  LEFT  COMMAND
─ Queue 1 ────────────────────────────────────────────────────────────────────────────────
'''
PAGE = {
    'title': 'Berth — 3.5 GiB free, 1 wait', 'headline': '3.5 GiB free to grant',
    'summary': '2 leases hold 12.0 of 16.0 GiB on 1 GPU. 1 suspended. 1 request waits.',
    'device': {'Free to grant': '3.5GiB', 'Used by leases': '6.1GiB',
               'Granted, not used': '5.9GiB', 'Held back': '0.5GiB', 'Unmanaged part': '0.0GiB'},
    'leases': '2 held, 1 suspended', 'rows': 3, 'queue': '1 request',
}


def answers():
    """`berth status` and `berth ps`."""
    device = {'uuid': 'GPU-1', 'leases': [1, 2]} | {
        f'vram_{key}_bytes': int(gib * GIB) for key, gib in
        (('grantable', 3.5), ('granted', 12), ('used', 6.1), ('total', 16), ('held_back', 0.5))}
    leases = [{'id': id, 'state': state, 'devices': [
        {'uuid': 'GPU-1', 'vram_used_bytes': int(used * GIB)}]} for id, state, used in
        ((1, 'held', 2.3), (2, 'held', 3.8), (3, 'suspended', 0))]
    leases.append({'id': 4, 'state': 'waiting', 'devices': []})
    return {'devices': [device]}, {'items': leases}


def wrong(top=TOP, is_wide=True, **page):
    shown = {'top': look_figures.figures_of_top(top),
             'page': look_figures.figures_of_page(PAGE | page)}
    return look_figures.wrong_figures(shown, look_figures.expected(*answers()), is_wide)


class LookFigures(unittest.TestCase):
    def test_what_agrees_is_not_found(self):
        self.assertEqual(wrong(), [])

    def test_each_figure_of_top_is_looked_at(self):
        for right, other, name in (
                ('3.5 GiB free to grant  2', '3.6 GiB free to grant  2', 'free'),
                ('▏  3.5', '▏  3.4', 'free at the bar'), ('used 6.1', 'used 6.2', 'used'),
                ('granted 12.0', 'granted 11.9', 'granted'), ('of 16.0', 'of 15.0', 'capacity'),
                ('2 held', '3 held', 'held'), ('1 suspended', '2 suspended', 'suspended'),
                ('1 wait', '0 wait', 'waiting'), ('Queue 1', 'Queue 2', 'queue')):
            self.assertRegex('\n'.join(wrong(TOP.replace(right, other))), f'^top: {name}: .*$')

    def test_what_top_has_no_room_for_is_not_missed(self):
        narrow = TOP.replace('to grant  2 held  1 suspended  1 wait', '')
        self.assertEqual(wrong(narrow, is_wide=False), [])
        self.assertIn('top: held is not shown', wrong(narrow))
        self.assertIn('top: queue is not shown', wrong(TOP.replace('Queue', '')))
        self.assertEqual(len(wrong('', is_wide=False)), 5)

    def test_each_figure_of_the_page_is_looked_at(self):
        for place, right, other, name in (
                ('title', '3.5', '3.6', 'free in the title'),
                ('title', '1 wait', '2 wait', 'waiting in the title'),
                ('headline', '3.5', '4.5', 'free'), ('summary', '2 leases', '1 lease', 'held'),
                ('summary', 'hold 12', 'hold 13', 'granted'),
                ('summary', 'of 16', 'of 15', 'capacity'),
                ('summary', '1 susp', '2 susp', 'suspended'),
                ('summary', '1 request', '3 request', 'waiting'),
                ('leases', '2 held', '3 held', 'held in the table'),
                ('queue', '1', '2', 'queue')):
            found = wrong(**{place: PAGE[place].replace(right, other)})
            self.assertRegex('\n'.join(found), f'^page: {name}: .*$')
        self.assertRegex(wrong(rows=2)[0], 'page: rows: 2 is shown, and it is 3')
        for name in ('Free to grant', 'Used by leases', 'Held back'):
            found = wrong(device=PAGE['device'] | {name: '3.3GiB'})
            self.assertRegex('\n'.join(found), f'page: {name}: ')

    def test_what_the_page_shows_adds_up_to_the_device(self):
        found = wrong(device=PAGE['device'] | {'Granted, not used': '5.6GiB'})
        self.assertRegex('\n'.join(found), r'are not the 16 GiB that there are')

    def test_a_dash_is_no_figure_and_no_error(self):
        self.assertEqual(wrong(device=PAGE['device'] | {'Used by leases': '—'}), [])


if __name__ == '__main__':
    unittest.main()
