#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of nights.bash: which stages of a night stand, and which have to be run again."""
import json
import os
import subprocess
import tempfile
import unittest

TOOLS = os.path.dirname(os.path.abspath(__file__))
HEAD = f'say() {{ echo "dev: $*" >&2; }}; source {TOOLS}/nights.bash; '


class Nights(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run_in('git init -q; git config user.name x; git config user.email x@example.org; '
                    'mkdir -p docs/measurements src fuzz; touch src/a.cc fuzz/a.cc docs/a.md')
        self.commit()

    def run_in(self, script):
        return subprocess.run(['bash', '-euo', 'pipefail', '-c', HEAD + script],
                              cwd=self.folder.name, capture_output=True, text=True)

    def commit(self):
        done = self.run_in('git add -A; git commit -qm x')
        self.assertEqual(done.returncode, 0, done.stderr)

    def due(self, *stages):
        done = self.run_in('due_stages ' + ' '.join(stages))
        return done.returncode, done.stdout

    def test_a_stage_that_never_passed_is_due(self):
        self.assertEqual(self.due('sim'), (1, 'sim: due: never passed\n'))

    def test_one_that_passed_stands_until_what_it_covers_changes(self):
        self.run_in('keep_stage sim 7 passed 3 0; keep_stage test 8 passed 4 0')
        self.commit()  # The lines themselves change nothing.
        code, out = self.due('sim', 'test')
        self.assertEqual(code, 0)
        self.assertRegex(out, r'\Asim: passed at [0-9a-f]{7}\ntest: passed at [0-9a-f]{7}\n\Z')
        self.run_in('echo x >docs/a.md')
        code, out = self.due('sim', 'test')
        self.assertEqual(code, 1)
        self.assertIn('sim: passed', out)
        self.assertRegex(out, 'test: due: passed at [0-9a-f]{7}; 1 files changed since')
        self.run_in('echo x >src/a.cc')
        self.assertIn('sim: due', self.due('sim')[1])

    def test_what_runs_the_examples_of_documents_covers_them(self):
        self.run_in('keep_stage asan 7 passed 3 0; keep_stage fuzz 8 passed 4 0')
        self.commit()
        self.run_in('echo x >docs/a.md')
        self.assertIn('asan: due', self.due('asan')[1])
        self.assertIn('fuzz: passed', self.due('fuzz')[1])

    def test_what_no_test_reads_makes_no_stage_of_tests_due(self):
        self.run_in('keep_stage asan 7 passed 3 0; keep_stage mutants 8 passed 4 0; '
                    'keep_stage test 9 passed 5 0; mkdir -p tests/mutants')
        self.commit()
        self.run_in('echo x >docs/measurements/seeds.ndjson; git add -A')
        self.assertEqual(self.due('asan', 'mutants', 'test')[0], 0)
        self.run_in('echo x >tests/mutants/a.patch; git add -A')
        code, out = self.due('asan', 'mutants', 'test')
        self.assertEqual(code, 1)
        self.assertIn('asan: passed', out)
        self.assertIn('mutants: due', out)
        self.assertIn('test: due', out)

    def test_a_part_covers_what_its_stage_covers(self):
        self.run_in('keep_stage mutants_2 7 passed 3 0')
        self.commit()
        self.run_in('echo x >docs/a.md')
        self.assertIn('mutants_2: passed', self.due('mutants_2')[1])
        self.run_in('echo x >src/a.cc')
        self.assertIn('mutants_2: due', self.due('mutants_2')[1])

    def test_a_red_one_is_due_and_a_later_green_one_counts(self):
        self.run_in('keep_stage sim 7 "FAILED (1)" 3 1')
        self.commit()
        self.assertEqual(self.due('sim')[0], 1)
        self.run_in('keep_stage sim 7 passed 4 0')
        self.assertEqual(self.due('sim')[0], 0)

    def test_nothing_is_kept_of_a_tree_that_is_no_commit(self):
        self.run_in('echo x >src/a.cc')
        self.assertIn('uncommitted changes', self.run_in('keep_stage sim 7 passed 3 0').stderr)
        self.assertEqual(self.due('sim')[0], 1)

    def test_a_commit_that_is_not_in_this_history_counts_for_nothing(self):
        with open(os.path.join(self.folder.name, 'docs/measurements/nights.ndjson'), 'w',
                  encoding='ascii') as file:
            file.write('{"stage":"sim","verdict":"passed","commit":"' + '0' * 40 + '"}\n')
        self.assertIn('not in this history', self.due('sim')[1])

    def test_each_line_is_json(self):
        self.run_in('keep_stage sim 7 "FAILED (too slow)" 3 1')
        with open(os.path.join(self.folder.name, 'docs/measurements/nights.ndjson'),
                  encoding='ascii') as file:
            line = json.loads(file.read())
        self.assertEqual((line['stage'], line['verdict'], line['seconds'], line['tests_failed']),
                         ('sim', 'FAILED (too slow)', 7, 1))


if __name__ == '__main__':
    unittest.main()
