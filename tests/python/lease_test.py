#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in Python under `berth run`, with leases of their own, and without either: on the
simulated driver, with a daemon."""
import json
import os
import re
import subprocess
import sys
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
EXAMPLES = os.path.join(ROOT, 'examples/python')
PYTHON = sys.executable


def simulated_driver():
    program = subprocess.run(['sh', '-c', 'command -v berth'], capture_output=True, text=True,
                             check=True).stdout.strip()
    return os.path.join(os.path.dirname(program), '../lib/simgpu')


def environment(**more):
    return {**os.environ, **more}


def run(*command, status=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50,
                          env=environment(**more))
    if done.returncode != status:
        raise AssertionError(f'{command} ended with {done.returncode}, not {status}:\n'
                             f'{done.stdout}{done.stderr}')
    return done


def python(text, *before, **more):
    return run(*before, PYTHON, '-c', 'import berth, os\n' + text, **more).stdout.strip()


def eventually(true, what):
    for _ in range(400):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError(f'not within 20 s: {what}')


def shown(name):
    told = subprocess.run(['berth', 'show', '--json', name], capture_output=True, text=True,
                          check=False)
    return json.loads(told.stdout) if told.returncode == 0 else None


class Leases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run('berth', 'status')  # Which starts the daemon.

    def start(self, name, *command):
        """A program under `berth run`, once it has its lease."""
        program = subprocess.Popen(['berth', 'run', '-q', '-m', '2G', '-n', name, *command],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        eventually(lambda: (shown(name) or {}).get('pid'), name)
        return program

    def test_under_berth_run_lease_and_budget_are_known(self):
        told = run('berth', 'run', '-q', '-m', '2G', '--', PYTHON, EXAMPLES + '/measure.py')
        self.assertRegex(told.stdout, r'^libberth \S+, lease \d+, devices 1\n')
        self.assertIn('\nlease_budget 2048 MiB (ledger)\n', told.stdout)
        self.assertIn('\ndevice_total 16384 MiB (driver)\n', told.stdout)
        self.assertIn('\nprovider_allocated unknown\n', told.stdout)
        self.assertIn('\n1 GiB: yes: 1024 MiB wanted, ', told.stdout)
        self.assertEqual(told.stderr, '')

    def test_without_anything_all_is_unknown_and_that_is_said_once(self):
        told = run(PYTHON, '-c', 'import berth\nfor _ in range(3): print(berth.Session())\n'
                   'print(berth.session().measure())\nprint(berth.has_room(1).answer)\n'
                   'print(berth.get_gpu_info())\nberth.VramManager().step()')
        self.assertIn('device_free unknown', told.stdout)
        self.assertRegex(told.stdout, r'host_used [1-9]\d* MiB \(/proc\)')
        self.assertIn('\nNone\n', told.stdout)
        self.assertIn("'available': False, 'device_count': 0, 'lease': None", told.stdout)
        self.assertRegex(told.stderr, r'\Aberth: no lease .*\n\Z')

    def test_room_is_that_of_the_device_and_of_the_budget(self):
        asked = ('for size in "1G", "3G":\n'
                 '  room = berth.has_room(size); print(room.answer, bool(room))')
        self.assertEqual(python(asked, 'berth', 'run', '-q', '-m', '2G', '--'),
                         'True True\nFalse False')
        # Without a lease the device counts, without a driver nothing is known.
        text = 'print(berth.has_room("15G").answer, berth.has_room("17G").answer)'
        self.assertEqual(python(text, LD_LIBRARY_PATH=simulated_driver()), 'True False')
        self.assertEqual(python(text), 'None None')

    def test_helpers_find_the_fields_that_they_expect(self):
        found = json.loads(python('import json; print(json.dumps(berth.get_gpu_info()))',
                                  'berth', 'run', '-q', '-m', '2G', '--'))
        self.assertTrue(found['available'])
        self.assertEqual(found['device_count'], 1)
        device = found['devices'][0]
        self.assertEqual((device['index'], device['total_memory_gb'], device['budget_gb']),
                         (0, 16.0, 2.0))
        self.assertIsNone(device['allocated_memory_gb'])
        self.assertIn('imulated', device['name'])

    def test_a_program_has_a_lease_of_its_own_and_gives_it_back(self):
        told = run(PYTHON, EXAMPLES + '/own_lease.py', LD_LIBRARY_PATH=simulated_driver())
        lease, *budgets = told.stdout.splitlines()
        self.assertRegex(lease, r'^lease \d+$')
        self.assertEqual(budgets, ['budget 1024 MiB (ledger)', 'budget 2048 MiB (ledger)'])
        run('berth', 'run', '-q', '-m', '14G', '--no-wait', '--', 'true')

    def test_its_environment_is_seen_and_its_children_have_it(self):
        text = ('with berth.acquire("1G", name="seen") as lease:\n'
                '  child = os.popen("echo $BERTH_LEASE").read().strip()\n'
                '  print(os.environ["BERTH_LEASE"] == child == str(lease.lease))\n'
                '  print(berth.session().lease == lease.lease, os.environ["BERTH_VRAM_BYTES"])')
        self.assertEqual(python(text, LD_LIBRARY_PATH=simulated_driver()),
                         'True\nTrue 1073741824')

    def test_a_text_needs_a_unit_and_a_number_is_bytes(self):
        text = ('for size in "8", "8192", " 1.5 ", "16777216", "8B", 8192, 1 << 30:\n'
                '  try:\n'
                '    with berth.acquire(size) as lease: print(lease.measure().lease_budget.bytes)\n'
                '  except berth.BerthError as error: print(type(error).__name__, error)\n'
                'print(berth.has_room("0").answer)')
        *bare, of_8, of_8192, of_a_gib, nothing = python(
            text, LD_LIBRARY_PATH=simulated_driver()).splitlines()
        wrong = 'InvalidArgument vram: a size needs a unit; did you mean '
        self.assertEqual(bare, [f"{wrong}'{meant}'?"
                                for meant in ('8G', '8192M', '1.5G', '16777216B')])
        self.assertIn('8 B is below what a CUDA context alone takes', of_8)
        self.assertIn('8.0 KiB is below what a CUDA context alone takes', of_8192)
        self.assertEqual((of_a_gib, nothing), (str(1 << 30), 'True'))

    def test_what_was_given_back_is_not_had_again(self):
        text = ('with berth.acquire("2G") as first: pass\n'
                'print([name for name in os.environ if name.startswith("BERTH_LEASE")],\n'
                '      os.environ["CUDA_VISIBLE_DEVICES"], berth.session().lease)\n'
                'print("child", os.popen("echo $BERTH_LEASE_ID").read().strip())\n'
                'with berth.acquire("3G") as second:\n'
                '  print(second.lease > number, second.measure().lease_budget.bytes >> 30)\n'
                'with berth.acquire("1G") as third: third.release()')  # And again at its end.
        text = text.replace(': pass', ': number = first.lease')
        self.assertEqual(python(text, LD_LIBRARY_PATH=simulated_driver(),
                                CUDA_VISIBLE_DEVICES='0,1').splitlines(),
                         ['[] 0,1 None', 'child ', 'True 3'])

    def test_what_the_program_has_set_itself_meanwhile_stays(self):
        text = ('with berth.acquire("1G") as lease: os.environ["CUDA_VISIBLE_DEVICES"] = "7"\n'
                'print(os.environ["CUDA_VISIBLE_DEVICES"])')
        self.assertEqual(python(text, LD_LIBRARY_PATH=simulated_driver()), '7')

    def test_in_a_reservation_that_is_over_a_lease_is_a_new_one(self):
        told = run('berth', 'reserve', '2m', '-m', '1G', '-n', 'over', '--export').stdout
        exported = dict(re.findall(r"^export '?(\w+)=(.*?)'?$", told, flags=re.M))
        self.assertIn('BERTH_LEASE_ID', exported)
        joined = ('with berth.acquire("1G") as lease: print(lease.lease)\n'
                  'print(os.environ["BERTH_LEASE"])')
        old = exported['BERTH_LEASE']
        self.assertEqual(python(joined, **exported).splitlines(), [old, old])
        run('berth', 'release', 'over')
        # Its files may be there for some moments yet.
        until = time.monotonic() + 30
        while python('print(berth.session().lease)', **exported) != 'None':
            self.assertLess(time.monotonic(), until)
        text = ('lease = berth.acquire("2G")\n'
                f'print(lease.lease > {old}, lease.measure().lease_budget.bytes >> 30)\n'
                'lease.release(); print("BERTH_LEASE_ID" in os.environ)')
        self.assertEqual(python(text, **exported).splitlines(), ['True 2', 'False'])

    def test_the_command_that_a_refusal_offers_can_be_typed(self):
        text = ('try: berth.acquire("3G")\n'
                'except berth.Conflict as error: print(error)')
        told = python(text, 'berth', 'run', '-q', '-m', '2G', '--')
        self.assertRegex(told, r'\(2\.0 GiB\): berth resize \d+ -m 3G$')

    def test_a_lease_is_refused_where_there_is_no_room_and_joined_where_there_is_one(self):
        self.start('holds', 'sleep', '100')
        text = ('try: berth.acquire("15G")\n'
                'except berth.Conflict as error: print("refused", error)')
        self.assertRegex(python(text), r'^refused .+')
        joined = 'with berth.acquire("1G") as lease: print(repr(lease.measure().lease_budget))'
        self.assertIn('2147483648', python(joined, 'berth', 'run', '-q', '-m', '2G', '--'))
        run('berth', 'cancel', 'holds')

    def test_without_a_daemon_a_lease_is_unavailable_and_the_cure_is_named(self):
        text = ('try: berth.acquire("1G")\n'
                'except berth.Unavailable as error: print(error)')
        self.assertIn('berth daemon start', python(text, BERTH_RUNTIME_DIR=os.environ['HOME']))

    def test_a_reservation_is_renewed(self):
        told = run('berth', 'reserve', '2m', '-m', '1G', '-n', 'kept', '--export').stdout
        exported = dict(re.findall(r"^export '?(\w+)=(.*?)'?$", told, flags=re.M))
        self.assertIn('BERTH_LEASE_ID', exported)
        before = shown('kept')['expires']
        python('berth.session().renew(7200)', **exported)
        self.assertGreater(shown('kept')['expires'], before)
        run('berth', 'release', 'kept')

    def test_only_a_reservation_can_be_renewed(self):
        text = ('try: berth.session().renew(60)\n'
                'except berth.BerthError as error: print(type(error).__name__, error)')
        self.assertRegex(python(text, 'berth', 'run', '-q', '-m', '1G', '--'), r'^\w+ .+')
        self.assertRegex(python(text), 'Unavailable .*no lease')

    def test_progress_is_told_and_shown_with_its_end(self):
        text = ('import time\n'
                'for step in range(1, 101):\n'
                '    berth.session().report_progress(step, 100, note=f"step {step}")\n'
                '    if step in (20, 21): time.sleep(1.1)\n'
                'time.sleep(60)')
        program = self.start('steps', '--', PYTHON, '-c', 'import berth\n' + text)
        eventually(lambda: shown('steps')['progress']
                   and shown('steps')['progress']['done'] == 100, 'all is told')
        told = shown('steps')
        self.assertEqual(told['progress']['total'], 100)
        self.assertEqual(told['progress']['note'], 'step 100')
        self.assertEqual(told['progress']['left_ms'], 0)
        self.assertIsNotNone(told['expected_end'])
        run('berth', 'cancel', 'steps')
        program.wait()

    def test_progress_without_a_lease_is_no_trouble_and_nonsense_is(self):
        self.assertEqual(python('print(berth.session().report_progress(1, 2))'), 'False')
        text = ('for wrong in (dict(done=3, total=2), dict(done=-1), dict(done=1.5)):\n'
                '    try: berth.session().report_progress(**wrong)\n'
                '    except berth.InvalidArgument as error: print(error)')
        self.assertEqual(python(text).splitlines(),
                         ['progress.done (3) is above progress.total (2)',
                          'done must be a whole number from 0 on, not -1',
                          'done must be a whole number from 0 on, not 1.5'])

    def test_a_program_is_asked_to_save_itself_and_says_that_it_has(self):
        program = self.start('saves', '--checkpoint', 'library', '--', PYTHON,
                             EXAMPLES + '/trainer.py', '--steps', '100000', '--pause', '0.01',
                             '--save', 'saved')
        run('berth', 'checkpoint', 'saves')
        with open('saved', encoding='utf-8') as stream:
            self.assertRegex(stream.read(), r'^step [1-9]\d*\n$')
        self.assertEqual(shown('saves')['checkpoint']['last']['outcome'], 'saved')
        run('berth', 'cancel', 'saves')
        program.wait()

    def test_a_save_that_raises_has_failed_and_says_why(self):
        self.start('raises', '--checkpoint', 'library', '--', PYTHON, '-c',
                   'import berth\n'
                   'def save(ask): raise OSError("the disk is gone")\n'
                   'while True:\n'
                   '  try: berth.session().serve(timeout=1, checkpoint=save)\n'
                   '  except OSError: pass')
        run('berth', 'checkpoint', 'raises', status=1)
        last = shown('raises')['checkpoint']['last']
        self.assertEqual(last['outcome'], 'failed')
        self.assertIn('OSError: the disk is gone', json.dumps(last))
        run('berth', 'cancel', 'raises')

    def test_a_program_that_leaks_inside_its_lease_is_warned_saved_and_ends(self):
        told = run('berth', 'run', '-q', '-m', '2G', '--', PYTHON, EXAMPLES + '/trainer.py',
                   '--steps', '1000', '--leak', '16', '--save', 'leaked', status=75)
        self.assertRegex(told.stderr, r'step \d+: warn: ')
        self.assertRegex(told.stderr, r'leaks: it grows by 16 MiB a step')
        self.assertEqual(told.stderr.count('emergency checkpoint: done'), 1)
        with open('leaked', encoding='utf-8') as stream:
            self.assertRegex(stream.read(), r'^step [1-9]\d*\n$')

    def test_a_step_that_does_not_fit_into_the_budget_is_done_in_pieces(self):
        told = run('berth', 'run', '-q', '-m', '2G', '--', PYTHON, EXAMPLES + '/trainer.py',
                   '--steps', '5', '--sample', '100', '--batch', '64')
        size, times = map(int, re.search(r'Batch: (\d+) x (\d+)', told.stdout).groups())
        self.assertEqual(size * times, 64)
        self.assertGreater(times, 1)
        # Without a budget it does fit.
        told = run('berth', 'run', '-q', '-m', '10G', '--', PYTHON, EXAMPLES + '/trainer.py',
                   '--steps', '5', '--sample', '100', '--batch', '64')
        self.assertIn('Batch: 64 x 1', told.stdout)


if __name__ == '__main__':
    unittest.main()
