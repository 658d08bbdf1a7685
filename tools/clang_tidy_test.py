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


if __name__ == '__main__':
    unittest.main()
