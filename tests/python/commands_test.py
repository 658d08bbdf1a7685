#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth.status(), fit(), submit(), wait() and run(): a script that uses the command line."""
import os
import subprocess
import unittest
from unittest import mock

import berth

GIB = 1 << 30


class Commands(unittest.TestCase):
    def test_status_tells_of_gpus_leases_and_queue(self):
        number = int(subprocess.run(['berth', 'reserve', '-q', '1h', '-x', '-n', 'whole'],
                                    capture_output=True, text=True, check=True).stdout)
        waiting = berth.submit(['true'], '2G', name='later')
        status = berth.status()
        self.assertEqual(status.gpus[0].total, 16 * GIB)
        self.assertTrue(status.simulated)
        self.assertEqual([(one.number, one.name) for one in status.leases], [(number, 'whole')])
        self.assertEqual([(one.number, one.queue_position) for one in status.queue],
                         [(waiting, 1)])
        fit = berth.fit('2G')
        self.assertFalse(fit)
        self.assertEqual(fit.ahead, 1)
        self.assertGreater(fit.check_again_after, 0)
        subprocess.run(['berth', 'cancel', str(waiting)], check=True, capture_output=True)
        subprocess.run(['berth', 'release', str(number)], check=True, capture_output=True)
        berth.wait(number)
        self.assertTrue(berth.fit(2 * GIB))
        self.assertIsNone(berth.fit('2G').check_again_after)

    def test_jobs_are_submitted_once_with_a_key_and_waited_for(self):
        first = berth.submit(['sh', '-c', 'exit 3'], '1G', key='once')
        self.assertEqual(berth.submit(['sh', '-c', 'exit 3'], '1G', key='once'), first)
        well = berth.submit(['true'], '1G')
        ended = berth.wait(first, well)
        self.assertEqual([(one.result, one.exit_code, one.ok) for one in ended],
                         [('failed', 3, False), ('ok', 0, True)])
        slow = berth.submit(['sleep', '60'], '1G')
        with self.assertRaises(berth.TimedOut):
            berth.wait(slow, timeout=0.2)
        subprocess.run(['berth', 'cancel', str(slow)], check=True, capture_output=True)

    def test_run_is_a_command_with_memory_or_in_a_lease(self):
        done = berth.run(['sh', '-c', 'echo $BERTH_VRAM_BYTES; exit 4'], '2G',
                         stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (4, f'{2 * GIB}\n'))
        number = int(subprocess.run(['berth', 'reserve', '-q', '1h', '-m', '1G'],
                                    capture_output=True, text=True, check=True).stdout)
        done = berth.run(['sh', '-c', 'echo $BERTH_LEASE'], lease=number, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout, f'{number}\n')
        self.assertEqual(berth.run(['true'], exclusive=True, wait_max=0,
                                   stderr=subprocess.DEVNULL).returncode, 75)
        subprocess.run(['berth', 'release', str(number)], check=True, capture_output=True)

    def test_what_goes_wrong_names_the_thing(self):
        for wrong, kind, said in ((lambda: berth.submit(['true'], '1000G'),
                                   berth.InvalidArgument, 'GPU'),
                                  (lambda: berth.wait('nobody'), berth.NotFound, 'nobody'),
                                  (lambda: berth.wait(), berth.InvalidArgument, 'lease'),
                                  (lambda: berth.fit('much'), berth.InvalidArgument, 'much')):
            with self.assertRaises(kind) as caught:
                wrong()
            self.assertIn(said, str(caught.exception))
        with mock.patch.dict(os.environ, {'BERTH_PROGRAM': '/nowhere/berth'}):
            with self.assertRaises(berth.Unavailable) as caught:
                berth.status()
        self.assertIn('/nowhere/berth', str(caught.exception))


if __name__ == '__main__':
    unittest.main()
