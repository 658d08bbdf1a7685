#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of stages.bash, and of the stages that ./dev has: what a run says and ends with."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = '''
say() { echo "dev: $*" >&2; }
fail() { local code=$1; shift; say "$*"; exit "$code"; }
source tools/stages.bash
well() { tests_passed=$((tests_passed + 2)); }
badly() { return 3; }
all_stages() {
  stage one 10 well
  absent two "nothing there"
  stage three 10 "${third:-well}"
  stage_in_time four 10 well
  finish_stages
}
'''


def run(script):
    # The time of the shell goes on while it runs: SECONDS is set where a test is about time.
    done = subprocess.run(['bash', '-euo', 'pipefail', '-c', HEAD + script], cwd=ROOT,
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Stages(unittest.TestCase):
    def test_all_pass(self):
        code, out, _ = run('all_stages')
        self.assertEqual(code, 0)
        self.assertTrue(out.endswith('3 stages passed, 0 failed, 1 absent; tests:\n'
                                     '6 passed, 0 failed\n'), out)

    def test_the_first_red_one_is_the_last(self):
        code, out, _ = run('third=badly all_stages')
        self.assertEqual(code, 1)
        self.assertIn('three: FAILED (3)', out)
        self.assertNotIn('== four', out)
        self.assertTrue(out.endswith('2 passed, 1 failed\n'), out)

    def test_a_run_that_goes_on_ends_red_as_well(self):
        code, out, _ = run('keep_going=true third=badly all_stages')
        self.assertEqual(code, 1)
        self.assertTrue(out.endswith('2 stages passed, 1 failed, 1 absent; tests:\n'
                                     '4 passed, 1 failed\n'), out)

    def test_one_that_takes_too_long_is_red(self):
        late = 'late() { SECONDS=$((SECONDS + 25)); }; third=late keep_going=true'
        self.assertIn('three: FAILED (too slow)', run(late + ' all_stages')[1])
        self.assertIn('three: passed', run(late + ' slack=300 all_stages')[1])

    def test_one_that_would_end_too_late_is_absent(self):
        code, out, _ = run('latest=50; SECONDS=36; all_stages')
        self.assertEqual(code, 0)
        self.assertIn('== three: passed', out)
        self.assertIn('== four: passed', run('latest=50; SECONDS=30; all_stages')[1])
        self.assertIn('four: absent: it may take 15 s, and 36 of 50 s are over', out)

    def test_who_is_told_of_each_stage_learns_how_it_ended(self):
        script = 'kept() { echo "kept: $*"; }; on_stage=kept keep_going=true third=badly all_stages'
        out = run(script)[1]
        self.assertIn('kept: one 0 passed 2 0\n', out)
        self.assertIn('kept: three 0 FAILED (3) 0 0\n', out)

    def test_the_figures_of_node_are_added_up(self):
        runner = 'node_says() { printf "ℹ pass 4\\nℹ fail 1\\n# pass 2\\npass 9\\n"; return 3; }; '
        code, out, _ = run(runner + 'run_node_tests node_says || echo "red $?";'
                           ' echo "$tests_passed and $tests_failed"')
        self.assertEqual(code, 0)
        self.assertTrue(out.endswith('red 3\n6 and 1\n'), out)

    def test_stages_can_be_named(self):
        code, out, _ = run('choose_stages all_stages three; all_stages')
        self.assertEqual(code, 0)
        self.assertNotIn('one', out)
        self.assertNotIn('two', out)
        self.assertIn('1 stages passed, 0 failed, 0 absent', out)

    def test_one_that_there_is_not_is_refused_before_any_runs(self):
        code, out, error = run('choose_stages all_stages three five; all_stages')
        self.assertEqual(code, 64)
        self.assertEqual(out, '')
        self.assertIn("no stage is called 'five'; there are: one two three four", error)

    def test_nothing_but_absent_stages_have_not_passed(self):
        self.assertEqual(run('choose_stages all_stages two; all_stages')[0], 69)


# What a verb of ./dev would do: its stages, with their budgets, what they may take, and their
# commands; none is run. Each takes `share` percent of its budget; the seconds until the end are
# told last.
VERB = '''
set -- help
exit() { :; }  # As ./dev does once its verb has run.
source ./dev >/dev/null
unset -f exit
machine() { :; }
has_libtorch() { true; }
has_mcp_clients() { true; }
has_browser() { true; }
has_look() { true; }
command() { true; }
stage() {
  echo "stage $1 $2 $(($2 * slack / 100)) ${*:3}"
  SECONDS=$((SECONDS + $2 * share / 100))
}
absent() { echo "absent $1: $2"; }
finish_stages() { echo "seconds $SECONDS"; }
SECONDS=0
'''
CHECK = [('packages', 'packages_for_check'), ('demo', './dev demo'), ('test', 'verb_test'),
         ('chaos', 'tests/chaos/run 20'), ('train', 'test_trainer'),
         ('mcp_clients', 'mcp_clients_tests'), ('page', 'verb_page'),
         ('mutants', 'tests/mutants/run 3'), ('lint', './dev tidy --seconds 120')]


def would_do(script):
    lines = subprocess.run(['bash', '-c', VERB + script], cwd=ROOT, text=True, check=False,
                           capture_output=True).stdout.split('\n')
    stages = [line.split(' ', 4)[1:] for line in lines if line.startswith('stage ')]
    absent = [line[7:] for line in lines if line.startswith('absent ')]
    seconds = [int(line.split()[1]) for line in lines if line.startswith('seconds ')]
    return stages, absent, seconds[-1]


class Check(unittest.TestCase):
    def test_a_commit_is_judged_by_check(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(f'{root}/.ci')
            shutil.copy(f'{ROOT}/.ci/run', f'{root}/.ci/run')
            with open(f'{root}/dev', 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho "dev $*"\nexit 7\n')
            os.chmod(f'{root}/dev', 0o755)
            done = subprocess.run([f'{root}/.ci/run'], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (7, 'dev check\n'))

    def test_it_runs_all_of_its_stages_in_this_order(self):
        stages, absent, _ = would_do('share=100; verb_check')
        self.assertEqual([(name, command) for name, _, _, command in stages], CHECK)
        self.assertEqual(absent, [])

    def test_by_its_budgets_it_ends_within_an_hour(self):
        stages, _, seconds = would_do('share=100; verb_check')
        self.assertLessEqual(seconds, 3600)
        self.assertEqual(seconds, sum(int(budget) for _, budget, _, _ in stages))

    def test_however_slow_it_is_it_ends_within_70_minutes(self):
        for share in range(10, 201, 5):
            stages, absent, seconds = would_do(f'share={share}; verb_check')
            self.assertLessEqual(seconds, 70 * 60, share)
            self.assertEqual(len(stages) + len(absent), len(CHECK), share)

    def test_what_cannot_be_had_is_absent_with_its_reason(self):
        stages, absent, _ = would_do('''
has_libtorch() { false; }
has_mcp_clients() { false; }
has_browser() { false; }
command() { [[ $* != *clang-tidy-19* ]]; }
share=100; verb_check''')
        left_out = ('train', 'mcp_clients', 'page', 'lint')
        self.assertEqual([name for name, *_ in stages],
                         [name for name, _ in CHECK if name not in left_out])
        self.assertEqual(absent, ['train: libtorch and what goes with it could not be installed',
                                  'mcp_clients: the packages of tests/mcp_clients could not be '
                                  'fetched',
                                  'page: Chromium, or the packages of web, could not be had',
                                  'lint: clang-tidy-19 could not be installed'])


class Night(unittest.TestCase):
    def test_each_stage_ends_within_the_hour_on_two_cores(self):
        """By its budget and what it may take beyond: the words that `dev` has for its stages."""
        stages, _, _ = would_do('share=0; nproc() { echo 2; }; night_stages')
        most = {name: int(seconds) for name, _, seconds, _ in stages}
        for name in ('test', 'tidy', 'clang', 'asan', 'tsan', 'adversary', 'neighbours', 'sim',
                     'mutants_1', 'mutants_2', 'mutants_3', 'chaos', 'look', 'fuzz',
                     'train', 'train_asan'):
            self.assertIn(name, most)
            self.assertLessEqual(most[name], 3600, name)

    def test_each_mutant_is_in_one_part(self):
        script = '''all=(a b c d e f g)
                  for part in 1 2 3; do chosen=(); choose_part $part/3; echo "${chosen[*]}"; done'''
        function = subprocess.run(['sed', '-n', '/^choose_part()/,/^}/p', 'tests/mutants/run'],
                                  cwd=ROOT, text=True, check=True, capture_output=True).stdout
        said = subprocess.run(['bash', '-c', function + script], text=True, check=True,
                              capture_output=True).stdout
        self.assertEqual(said.split('\n')[:3], ['a d g', 'b e', 'c f'])
        for wrong in ('0/3', '4/3', '1/0', 'x/3', '1/'):
            said = function + 'usage() { exit 64; }; choose_part ' + wrong
            done = subprocess.run(['bash', '-c', said], check=False)
            self.assertEqual(done.returncode, 64, wrong)

    def test_where_there_is_a_gpu_its_tests_have_eight_minutes(self):
        stages, _, _ = would_do('share=0; has_gpu() { true; }; night_stages')
        self.assertIn(['gpu', '480', '720', './dev gpu'], stages)
        stages, absent, _ = would_do('share=0; has_gpu() { false; }; night_stages')
        self.assertNotIn('gpu', [name for name, *_ in stages])
        self.assertIn('gpu: no GPU here', absent)


if __name__ == '__main__':
    unittest.main()
