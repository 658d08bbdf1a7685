#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of gpu.bash: what `./dev gpu` makes of what its tests came to. CMake, ctest and the program
that measures are stand-ins here; tests/gpu/rehearsal.py runs the real ones."""
import glob
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUN = '''
set -- help
exit() { :; }  # As ./dev does once its verb has run.
source ./dev >/dev/null
unset -f exit
has_gpu() { true; }
need() { echo "need $*"; }
set -e
verb_gpu'''
PROGRAMS = {
    'bin/cmake': '''echo "cmake $*"; sleep "${slow:-0}"
case "$*" in
  *build/gpu_trainer*) exit "${compiler_ends:-0}" ;;
  *gpu_trainer*) exit "${trainer_ends:-0}" ;;
esac''',
    'bin/ctest': '''echo "ctest $*, trainer $BERTH_GPU_TRAINER, none $BERTH_GPU_NO_TRAINER"
sleep "${slow:-0}"
while [ "$1" != --output-junit ]; do shift; done
[ "$total" = 0 ] || printf '<?xml version="1.0"?>\\n<testsuite name="Linux"\\n\\ttests="%s"
\\tfailures="%s"\\n\\tdisabled="0"\\n\\tskipped="%s"\\n\\ttime="9">\\n<testcase name="tests"/>' \\
  "$total" "$failed" "$skipped" >"$2"
exit "${ctest_ends:-0}"''',
    'build/gpu/bin/gpu_measure': '''echo "$BERTH_GPU_FACTS" >"$BERTH_GPU_FIGURES"
exit "${measure_ends:-0}"''',
}


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(f'{self.root}/tools')
        parts = ('setup', 'stages', 'nights', 'gpu')
        for path in ('dev', *(f'tools/{name}.bash' for name in parts)):
            shutil.copy(f'{ROOT}/{path}', f'{self.root}/{path}')
        for path, text in PROGRAMS.items():
            self.program(path, text)

    def program(self, path, text):
        os.makedirs(os.path.dirname(f'{self.root}/{path}'), exist_ok=True)
        with open(f'{self.root}/{path}', 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\n{text}\n')
        os.chmod(f'{self.root}/{path}', 0o755)

    def gpu(self, arguments='', total=13, failed=0, skipped=0, **more):
        environment = {'PATH': f'{self.root}/bin:/usr/bin:/bin',
                       'PYTHONPATH': f'{ROOT}/tests/gpu/stand_in', 'total': str(total),
                       'failed': str(failed), 'skipped': str(skipped)} | more
        done = subprocess.run(['bash', '-c', f'{RUN} {arguments}'], cwd=self.root, text=True,
                              env=environment, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def facts(self):
        paths = glob.glob(f'{self.root}/docs/measurements/*')
        self.assertEqual(len(paths), 1)
        self.assertRegex(paths[0], r'/gpu-\d{4}-\d\d-\d\d\.json$')
        with open(paths[0], encoding='utf-8') as file:
            return dict(line.strip().split('=', 1) for line in file)

    def assert_nothing_measured(self):
        self.assertFalse(os.path.exists(f'{self.root}/docs'))

    def test_where_tests_pass_it_is_green_and_measures(self):
        code, text = self.gpu(skipped=2)
        self.assertEqual(code, 0, text)
        self.assertIn('11 tests passed, 0 failed, 2 skipped', text)
        self.assertIn('--label-regex ^real_gpu$', text)
        facts = self.facts()
        for name, value in {'tests_passed': '11', 'tests_failed': '0', 'tests_skipped': '2',
                            'torch': '0+stand_in', 'libraries': 'packages'}.items():
            self.assertEqual(facts[name], value, name)

    def test_one_that_fails_makes_it_red_and_it_measures_all_the_same(self):
        code, text = self.gpu(failed=1, skipped=2, ctest_ends='8')
        self.assertEqual(code, 8, text)
        self.assertEqual(self.facts()['tests_failed'], '1')

    def test_nothing_but_skipped_ones_is_red(self):
        code, text = self.gpu(skipped=13)
        self.assertEqual(code, 69, text)
        self.assertIn('no test has run', text)
        self.assert_nothing_measured()

    def test_without_results_it_is_red(self):
        code, text = self.gpu(total=0)
        self.assertEqual(code, 70, text)
        self.assert_nothing_measured()

    def test_where_measuring_fails_it_is_red(self):
        self.assertEqual(self.gpu(measure_ends='1')[0], 1)

    def test_some_of_the_tests_give_no_figures(self):
        self.assertEqual(self.gpu('-R Guard')[0], 0)
        self.assertEqual(self.gpu('-R Guard', failed=1, ctest_ends='8')[0], 8)
        self.assert_nothing_measured()

    def test_the_figures_say_how_long_building_and_testing_took(self):
        self.gpu(slow='1.1')
        facts = self.facts()
        self.assertGreaterEqual(int(facts['seconds_build']), 2)  # It asks CMake twice.
        self.assertGreaterEqual(int(facts['seconds_tests']), 1)

    def test_without_ninja_it_is_make_the_second_time_too(self):
        self.program('lib/no_ninja', '''command() {
  [ "$*" = '-v ninja' ] && return 1
  [ "$*" = '-v make' ] && return  # Also where it is not.
  builtin command "$@"
}''')
        for _ in range(2):
            _, text = self.gpu(BASH_ENV=f'{self.root}/lib/no_ninja')
            self.assertIn('cmake --preset gpu -DBUNDLE= -G Unix Makefiles\n', text)
            self.program('build/gpu/CMakeCache.txt', '')

    def libtorch(self):
        folder = f'{self.root}/lib torch'
        os.makedirs(f'{folder}/Torch')
        open(f'{folder}/Torch/TorchConfig.cmake', 'w', encoding='utf-8').close()
        return folder

    def test_berth_train_is_built_with_the_libtorch_of_pytorch(self):
        folder = self.libtorch()
        code, text = self.gpu(STAND_IN_CMAKE=folder)
        self.assertEqual(code, 0, text)
        self.assertIn('cmake --preset gpu -DBUNDLE=', text)
        with open(f'{self.root}/build/gpu_trainer.log', encoding='utf-8') as file:
            self.assertIn(f'--preset gpu_trainer -DBUNDLE= -DTorch_DIR={folder}/Torch', file.read())
        self.assertIn('cmake --build build/gpu_trainer --parallel', text)
        self.assertIn(f', trainer {self.root}/build/gpu_trainer/bin/berth-train, none \n', text)
        self.assertEqual(self.facts()['trainer'], 'built')

    def test_where_berth_train_does_not_compile_its_tests_do_not_find_an_older_one(self):
        self.program('build/gpu_trainer/bin/berth-train', 'exit 0')
        code, text = self.gpu(STAND_IN_CMAKE=self.libtorch(), compiler_ends='1')
        self.assertEqual(code, 0, text)  # By this ctest.
        self.assertIn(', trainer /', text)
        self.assertFalse(os.path.exists(f'{self.root}/build/gpu_trainer/bin/berth-train'))
        self.assertEqual(self.facts()['trainer'], 'does not compile')

    def assert_no_trainer(self, why, **more):
        code, text = self.gpu(**more)
        self.assertEqual(code, 0, text)
        self.assertNotIn('--build build/gpu_trainer', text)
        self.assertIn(f', trainer , none {why}', text)
        self.assertTrue(self.facts()['trainer'].startswith(why), self.facts()['trainer'])

    def test_without_pytorch_that_is_said(self):
        self.program('bin/python3', 'exit 1')
        self.assert_no_trainer('python3 cannot import PyTorch')
        self.assertEqual(self.facts()['torch'], 'none')

    def test_a_pytorch_without_libtorch_builds_no_trainer(self):
        self.assert_no_trainer('this PyTorch comes without libtorch (no ')
        self.assertEqual(self.facts()['torch'], '0+stand_in')

    def test_a_pytorch_of_another_abi_builds_no_trainer(self):
        self.assert_no_trainer('this PyTorch is not built with the C++11 ABI',
                               STAND_IN_CMAKE=self.libtorch(), STAND_IN_ABI='old')

    def test_one_that_cmake_cannot_use_builds_no_trainer(self):
        self.assert_no_trainer('CMake cannot build with this PyTorch (build/gpu_trainer.log)',
                               STAND_IN_CMAKE=self.libtorch(), trainer_ends='1')


class Bundle(unittest.TestCase):
    def test_it_is_made_of_this_tree_and_has_what_the_sources_include(self):
        """It reads the sources with the preprocessor, wherever their folders have gone."""
        def dev(words):
            return subprocess.run(['bash', '-c', RUN.rpartition('verb_gpu')[0] + words], cwd=ROOT,
                                  capture_output=True, text=True, check=False)
        missing = dev('missing_of ${packages[gpu]}').stdout.split()
        if missing:
            self.skipTest(f'without {", ".join(missing)} there is nothing to make it of')
        with tempfile.TemporaryDirectory() as folder:
            made = dev(f'make_bundle {folder}/bundle')
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            for path in ('include/boost/asio/io_context.hpp', 'include/boost/beast/http.hpp',
                         'include/sqlite3.h', 'lib/libsqlite3.a', 'MANIFEST'):
                self.assertTrue(os.path.exists(f'{folder}/bundle/{path}'), path)


if __name__ == '__main__':
    unittest.main()
