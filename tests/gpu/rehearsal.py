#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rehearses what `./dev gpu` runs on a real GPU: the tests without one, which are all skipped, then
the tests and the measurements over the simulated driver. It shows that they run to their end and
see what they look at, and nothing about a GPU.

Usage: rehearsal.py BUILD_DIRECTORY
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

# What is not rehearsed, and why: what neither the simulated driver nor a stand-in for PyTorch
# computes, and berth-train where there is none, or in fp16.
NOT_SIMULATED = {'RealGuard.KernelsComputeTheSame': 'runs no kernels',
                 'RealPyTorch.TrainsInItsBudget': 'a stand-in for PyTorch computes nothing'}
OF_TRAINER = [f'RealTrainer.TrainsInItsBudgetIn{name}'
              for name in ('32Bits', 'Bfloat16', 'HalfPrecision')]
FIGURES = {'plain_launch_ns', 'guarded_launch_ns', 'pinned_to_device_gb_per_s',
           'pinned_to_host_gb_per_s', 'plain_allocate_and_free_ns',
           'guarded_allocate_and_free_ns', 'moved_gb', 'suspend_gb_per_s', 'resume_gb_per_s',
           'suspend_by_mover_s', 'resume_by_mover_s', 'first_sample_ms', 'sample_median_ms',
           'sample_slowest_ms'}

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(command, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(('BERTH_', 'CUDA_'))} | variables
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    print(done.stdout, flush=True)
    return done.returncode, done.stdout


def names_of(verdict, text):
    return set(re.findall(rf'^\[ +{verdict} \] (\w+\.\w+) \(', text, re.M))


def check(condition, what):
    if not condition:
        sys.exit(f'rehearsal: {what}')


def without_a_gpu(program):
    if glob.glob('/dev/nvidia[0-9]*') or os.path.exists('/dev/dxg'):
        return
    code, text = run([program])
    check(code == 0 and not names_of('OK', text), 'without a GPU a test has passed')
    skipped = names_of('SKIPPED', text)
    check(skipped and text.count('no GPU here: ') == len(skipped), 'a test was skipped without why')
    code, text = run([f'{ROOT}/dev', 'gpu'])
    check(code == 69 and 'no GPU here' in text, './dev gpu did not refuse')


def over_the_simulated_driver(program):
    expected = dict(NOT_SIMULATED)
    trainer = f'{os.path.dirname(program)}/berth-train'  # Where this build has libtorch.
    if os.path.exists(trainer):
        expected[OF_TRAINER[-1]] = 'on CPUs there is no fp16 to rehearse'
    else:
        trainer = ''
        expected |= dict.fromkeys(OF_TRAINER, 'no berth-train: none was built')
    code, text = run([program], BERTH_GPU_TESTS_ON='simulated', BERTH_GPU_TRAINER=trainer,
                     BERTH_GPU_NO_TRAINER='none was built')
    check(code == 0, 'a test has failed')
    skipped = names_of('SKIPPED', text)
    check(skipped == set(expected), f'these were skipped: {skipped}')
    check(all(text.count(why) >= list(expected.values()).count(why) for why in expected.values()),
          'for another reason')
    check(len(names_of('OK', text)) >= 10, 'few tests ran')


def figures(program):
    with tempfile.TemporaryDirectory(prefix='berth-rehearsal.') as folder:
        path = f'{folder}/figures.json'
        code, _ = run([program], BERTH_GPU_TESTS_ON='simulated', BERTH_GPU_FIGURES=path,
                      BERTH_GPU_FACTS='date=2000-01-01\ncommit=none\ntests_passed=3')
        check(code == 0, 'measuring has failed')
        with open(path, encoding='utf-8') as file:
            all_of_it = json.load(file)
    check('no figures of a GPU' in all_of_it['simulated'], 'the file does not say what it is not')
    check(all_of_it['tests_passed'] == 3 and all_of_it['commit'] == 'none', 'a fact is lost')
    check(all_of_it['gpu_bytes'] == 16 << 30, 'it is not the device')
    check(all_of_it['seconds_measuring'] > 0, 'it does not say how long it took')
    check(set(all_of_it['figures']) == FIGURES, f'the figures are {set(all_of_it["figures"])}')
    check(all(value > 0 for value in all_of_it['figures'].values()), 'a figure is 0')
    check(not all_of_it['missing'], f'missing: {all_of_it["missing"]}')


def main():
    programs = f'{sys.argv[1]}/bin'
    without_a_gpu(f'{programs}/real_gpu_test')
    over_the_simulated_driver(f'{programs}/real_gpu_test')
    figures(f'{programs}/gpu_measure')
    print('rehearsed')


if __name__ == '__main__':
    main()
