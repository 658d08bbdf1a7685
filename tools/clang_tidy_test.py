#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of clang_tidy.py: what was clean is run again when something it depends on has changed, and
only then. clang-tidy itself is not run here."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clang_tidy

FILES = {
    '.clang-tidy': 'Checks: bugprone-*\n',
    'src/.clang-tidy': 'InheritParentConfig: true\n',
    'src/core/lease.cc': '#include "core/lease.h"\n#include <vector>\n',
    'src/core/lease.h': '#include "base/units.h"\n',
    'src/base/units.h': 'struct Bytes {};\n',
    'src/base/ids.h': 'struct LeaseId {};\n',
}


class Keys(unittest.TestCase):
    def key(self, changes=None, flags='-O2'):
        """Of lease.cc, in a fresh folder with FILES and these changes."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in (FILES | (changes or {})).items():
                where = os.path.join(root, path)
                os.makedirs(os.path.dirname(where), exist_ok=True)
                with open(where, 'w', encoding='utf-8') as stream:
                    stream.write(text)
            held, clang_tidy.ROOT = clang_tidy.ROOT, root
            self.addCleanup(setattr, clang_tidy, 'ROOT', held)
            path = os.path.join(root, 'src/core/lease.cc')
            return clang_tidy.Tree().key(path, f'c++ {flags} -I{root} -I{root}/src -c {path}')

    def test_the_place_of_the_tree_does_not_count(self):
        self.assertEqual(self.key(), self.key())

    def test_what_is_included_counts_and_nothing_else(self):
        self.assertNotEqual(self.key(), self.key({'src/core/lease.cc': '#include <vector>\n'}))
        self.assertNotEqual(self.key(), self.key({'src/core/lease.h': '\n'}))
        self.assertNotEqual(self.key(), self.key({'src/base/units.h': '\n'}))
        self.assertEqual(self.key(), self.key({'src/base/ids.h': '\n'}))

    def test_the_checks_of_the_root_and_of_the_folder_count(self):
        self.assertNotEqual(self.key(), self.key({'.clang-tidy': '\n'}))
        self.assertNotEqual(self.key(), self.key({'src/.clang-tidy': '\n'}))
        self.assertNotEqual(self.key(), self.key({'src/core/.clang-tidy': '\n'}))
        self.assertEqual(self.key(), self.key({'simgpu/.clang-tidy': '\n'}))

    def test_how_it_is_compiled_counts(self):
        self.assertNotEqual(self.key(), self.key(flags='-O3'))


class Joining(unittest.TestCase):
    def joined(self, text):
        """What is run of two sources in src/core and a file that joins them with this text."""
        with tempfile.TemporaryDirectory() as root:
            files = {'src/core/a.cc': '', 'src/core/b.cc': '', 'tidy_joined/joined/core_0.cc': text}
            for path, content in files.items():
                where = os.path.join(root, path)
                os.makedirs(os.path.dirname(where), exist_ok=True)
                with open(where, 'w', encoding='utf-8') as stream:
                    stream.write(content)
            for name, value in (('ROOT', root), ('JOINED', os.path.join(root, 'tidy_joined'))):
                self.addCleanup(setattr, clang_tidy, name, getattr(clang_tidy, name))
                setattr(clang_tidy, name, value)
            full = [os.path.join(root, path) for path in files]
            commands = clang_tidy.join(dict.fromkeys(full[:2], 'alone'), {full[2]: 'joined'},
                                       clang_tidy.Tree())
            return {os.path.basename(path): command for path, command in commands.items()}

    def test_a_file_that_joins_sources_stands_for_them(self):
        self.assertEqual(self.joined('#include "core/a.cc"\n#include "core/b.cc"\n'),
                         {'core_0.cc': 'joined'})
        self.assertEqual(self.joined('#include "core/b.cc"\n'),
                         {'a.cc': 'alone', 'core_0.cc': 'joined'})

    def test_one_that_joins_what_is_not_known_is_left_out(self):
        self.assertEqual(self.joined('#include "core/a.cc"\n#include "c.cc"\n'),
                         {'a.cc': 'alone', 'b.cc': 'alone'})


class Bounded(unittest.TestCase):
    def setUp(self):
        self.read = []
        for name in ('run_one', 'ROOT'):
            self.addCleanup(setattr, clang_tidy, name, getattr(clang_tidy, name))
        clang_tidy.run_one = lambda path: self.read.append(path) or (0, '', '')

    def test_nothing_is_begun_after_its_time(self):
        self.assertEqual(list(clang_tidy.run_all(['a.cc', 'b.cc'], 0)), [])
        self.assertEqual(self.read, [])

    def test_all_is_read_in_time(self):
        found = list(clang_tidy.run_all(['a.cc', 'b.cc'], float('inf')))
        self.assertEqual(found, [('a.cc', (0, '', '')), ('b.cc', (0, '', ''))])
        self.assertEqual(sorted(self.read), ['a.cc', 'b.cc'])

    def test_each_commit_begins_with_another_source(self):
        self.assertEqual(clang_tidy.rotated(['a', 'b', 'c'], '0000001' + 33 * 'f'), ['b', 'c', 'a'])
        self.assertEqual(clang_tidy.rotated(['a', 'b', 'c'], '0000005'), ['c', 'a', 'b'])
        self.assertEqual(clang_tidy.rotated(['a', 'b', 'c'], ''), ['a', 'b', 'c'])
        self.assertEqual(clang_tidy.rotated([], '0000005'), [])

    def test_what_changed_itself_comes_first(self):
        with tempfile.TemporaryDirectory() as root:
            clang_tidy.ROOT = root
            for name, text in (('a.cc', '#include "c.h"\n'), ('b.cc', ''), ('c.cc', ''),
                               ('c.h', ''), ('d.cc', '')):
                with open(os.path.join(root, name), 'w', encoding='utf-8') as stream:
                    stream.write(text)
            commands = {os.path.join(root, name): '' for name in ('a.cc', 'b.cc', 'c.cc', 'd.cc')}
            found = clang_tidy.touched(commands, ['c.h', 'd.cc'], clang_tidy.Tree())
            self.assertEqual([os.path.basename(path) for path in found], ['d.cc', 'c.cc', 'a.cc'])


if __name__ == '__main__':
    unittest.main()
