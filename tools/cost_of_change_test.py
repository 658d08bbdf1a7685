#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of cost_of_change: which files count as what, and that each example is still there."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cost_of_change')


def run(*arguments, where):
    return subprocess.run([sys.executable, '-B', PROGRAM, *arguments], cwd=where,
                          capture_output=True, text=True, check=False)


class CostOfChange(unittest.TestCase):
    def tree(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, text in files.items():
            where = os.path.join(folder.name, path)
            os.makedirs(os.path.dirname(where), exist_ok=True)
            with open(where, 'w', encoding='utf-8') as stream:
                stream.write(text)
        for words in (('init', '-q'), ('add', '.')):
            subprocess.run(['git', *words], cwd=folder.name, check=True)
        return folder.name

    def test_files_are_counted_by_what_they_are(self):
        tree = self.tree({
            'src/model/a.h': 'int turn_min;', 'src/model/a_test.cc': 'turn_min',
            'src/model/a_for_test.h': 'turn_min', 'src/model/b.h': 'int turn_minutes;',
            'python/berth/a.py': 'turn_min', 'python/berth/a_test.py': 'turn_min',
            'tests/cli/a.bats': 'turn_min', 'bench/a.cc': 'turn_min', 'docs/a.md': '`turn_min`',
            'docs/config.md': 'turn_min', 'share/openapi.json': 'turn_min',
            'tests/baseline/a.ndjson': 'turn_min', 'fuzz/corpus/a/b': 'turn_min',
            'docs/extending.md': 'turn_min', 'tools/cost_of_change': 'turn_min'})
        self.assertEqual(run(r'\bturn_min\b', where=tree).stdout.split('\n'), [
            r'files (\bturn_min\b): 8 files, 4 generated',
            '  src: 2', '    python/berth/a.py', '    src/model/a.h',
            '  tests: 5', '    bench/a.cc', '    python/berth/a_test.py',
            '    src/model/a_for_test.h', '    src/model/a_test.cc', '    tests/cli/a.bats',
            '  docs: 1', '    docs/a.md',
            '  generated: 4', '    docs/config.md', '    fuzz/corpus/a/b',
            '    share/openapi.json', '    tests/baseline/a.ndjson', ''])

    def test_an_example_that_is_gone_is_an_error(self):
        self.assertEqual(run('gone', where=self.tree({'src/a.h': 'there'})).returncode, 1)
        self.assertEqual(run('there', where=self.tree({'src/a.h': 'there'})).returncode, 0)

    def test_what_git_does_not_understand_is_an_error(self):
        wrong = run('(', where=self.tree({'src/a.h': 'there'}))
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn('cost_of_change: ', wrong.stderr)

    def test_each_example_stands_in_sources_of_this_tree(self):
        root = os.path.dirname(os.path.dirname(PROGRAM))
        if not os.path.exists(os.path.join(root, '.git')):
            self.skipTest('this tree is no repository')
        found = run(where=root)
        self.assertEqual(found.returncode, 0, found.stdout)
        self.assertNotIn('  src: 0\n', found.stdout)


if __name__ == '__main__':
    unittest.main()
