#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The VRAM manager with a framework that is made up; nothing is asked of a daemon."""
import gc
import os
import threading
import unittest
import weakref

import berth

MIB = 1 << 20
os.environ.pop('BERTH_SIM')  # So that there is no device: figures are those of the framework.


class Framework(berth.Provider):
    def __init__(self, allocated=50 * MIB, cached=0):
        self.live, self.cached, self.synchronized = allocated, cached, 0

    def allocated(self, device):
        return self.live

    def reserved(self, device):
        return self.live + self.cached

    def empty_cache(self, device):
        self.cached = 0
        return True

    def synchronize(self, device):
        self.synchronized += 1
        return True


def manager(provider, **more):
    return berth.VramManager(basis='allocator', warn='100M', cleanup_at=200 * MIB,
                             critical='300M', sample_every=1e-9, provider=provider, **more)


class Manager(unittest.TestCase):
    def test_cleans_up_above_the_threshold_and_tells(self):
        framework, events = Framework(cached=200 * MIB), []
        with manager(framework, on_event=events.append) as keeper:
            report = keeper.step()
            self.assertEqual(report.done, ('cleanup',))
            self.assertEqual(report.freed, 200 * MIB)
            self.assertEqual((report.used, report.whole), (50 * MIB, None))
            self.assertEqual(framework.synchronized, 1)
            keeper.count_copy('5M')
            keeper.phase('forward')
            self.assertEqual(keeper.status_line(), 'VRAM: 50 MiB | Copies: 1 | Cleanups: 1')
            self.assertIn(keeper.status_line(), repr(keeper))
            self.assertIn(keeper.status_line(), keeper._repr_html_())
            counts = keeper.counts()
            self.assertEqual((counts.copied_bytes, counts.freed_bytes), (5 * MIB, 200 * MIB))
            self.assertEqual(counts.cleanup_bytes, 200 * MIB)
            self.assertEqual([phase.name for phase in keeper.phases()], ['forward'])
            self.assertEqual(keeper.phases()[0].allocated.bytes, 50 * MIB)
        self.assertIn('cleanup', [event.kind for event in events])
        self.assertIn('200 MiB freed', ' '.join(event.text for event in events))

    def test_saves_itself_once_an_episode_and_then_tries_the_measures_in_order(self):
        framework, done = Framework(allocated=400 * MIB), []

        def able(name, result):
            return lambda: (done.append(name), result)[1]
        with manager(framework, checkpoint=able('checkpoint', True), shrink=able('shrink', False),
                     offload=able('offload', None)) as keeper:
            for _ in range(20):
                keeper.step()
            self.assertEqual(done.count('checkpoint'), 1)
            self.assertEqual(keeper.counts().checkpoints, 1)
            self.assertLess(done.index('checkpoint'), done.index('shrink'))
            self.assertLess(done.index('shrink'), done.index('offload'))

    def test_without_callbacks_the_report_says_what_is_wanted(self):
        with manager(Framework(allocated=400 * MIB)) as keeper:
            report = keeper.step()
            self.assertEqual(report.level, 'critical')
            self.assertEqual(report.wanted, 'checkpoint')
            with self.assertRaisesRegex(berth.InvalidArgument, 'none of'):
                keeper.answer('jump')
            keeper.answer('checkpoint')
            self.assertEqual(keeper.counts().checkpoints, 1)
            events = keeper.events()
            self.assertIn('checkpoint', [event.kind for event in events])
            self.assertEqual(keeper.events(), [])

    def test_what_a_callback_raises_counts_as_not_done_and_is_raised(self):
        def fail():
            raise KeyError('the disk')
        with manager(Framework(allocated=400 * MIB), checkpoint=fail) as keeper:
            with self.assertRaisesRegex(KeyError, 'the disk'):
                keeper.step()
            counts = keeper.counts()
            self.assertEqual((counts.steps, counts.checkpoints), (1, 0))
            keeper.step()  # It is not raised twice.

    def test_what_a_provider_raises_is_raised_and_its_figure_unknown(self):
        class Broken(Framework):
            def reserved(self, device):
                raise RuntimeError('lost device')
        with manager(Broken()) as keeper:
            with self.assertRaisesRegex(RuntimeError, 'lost device'):
                keeper.step()
            with self.assertRaisesRegex(RuntimeError, 'lost device'):
                keeper.measure()

    def test_a_leak_is_found_and_a_clean_run_has_none(self):
        framework, events = Framework(allocated=100 * MIB), []
        with berth.VramManager(basis='allocator', provider=framework, sample_every=1e-9,
                               warn='10G', cleanup_at='11G', critical='12G',
                               on_event=events.append) as keeper:
            for step in range(1_000):
                framework.live = (100 + step % 7) * MIB
                keeper.step()
            self.assertEqual([event for event in events if event.kind == 'leak'], [])
            for step in range(50):
                framework.live = int(106 * MIB * 1.01 ** step)
                keeper.step()
            self.assertTrue(keeper.counts().leaks)
            self.assertGreater(keeper.counts().growth_per_step, MIB / 2)
            self.assertEqual([event.kind for event in events if 'leak' in event.kind], ['leak'])

    def test_a_step_inside_a_step_is_refused(self):
        refused = []

        def step_again():
            with self.assertRaises(berth.Busy) as caught:
                keeper.step()
            refused.append(str(caught.exception))
        with manager(Framework(allocated=400 * MIB), checkpoint=step_again) as keeper:
            keeper.step()
        self.assertEqual(len(refused), 1)

    def test_threads_may_step_and_measure_while_callbacks_run(self):
        framework, wrong = Framework(cached=1), []
        with manager(framework, on_event=lambda event: None) as keeper:
            def work(call):
                for _ in range(300):
                    try:
                        call()
                    except berth.Busy:
                        pass
                    except Exception as error:  # pylint: disable=broad-except
                        wrong.append(error)
            threads = [threading.Thread(target=work, args=(call,)) for call in (
                keeper.step, keeper.step, keeper.measure, keeper.cleanup, keeper.counts)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_it_dies_with_its_last_owner_though_callbacks_know_it(self):
        class Owner:
            def __init__(self):
                self.keeper = manager(Framework(), checkpoint=self.save)

            def save(self):
                return True
        owner = Owner()
        gone, handle = weakref.ref(owner), owner.keeper.handle
        del owner
        gc.collect()
        self.assertIsNone(gone())
        with self.assertRaises(berth.Stale):
            berth._library.check('berth_vram_manager_phase', handle, b'x')

    def test_mistakes_are_named(self):
        for wrong, text in (({'warn': 1.5}, 'warn is 1.5'), ({'basis': 'guess'}, 'guess'),
                            ({'warn': '5 apples'}, 'apples'), ({'provider': 'jax'}, 'jax'),
                            ({'warn': 0.9, 'critical': 0.8}, ''), ({'sample_every': -1}, '-1')):
            with self.assertRaises(berth.InvalidArgument) as caught:
                berth.VramManager(**wrong)
            self.assertIn(text, str(caught.exception))
        keeper = manager(None)
        keeper.close()
        keeper.close()
        with self.assertRaisesRegex(berth.Stale, 'closed'):
            keeper.step()
        self.assertIn('closed', repr(keeper))

    def test_a_session_that_was_closed_is_made_anew(self):
        first = berth.session()
        self.assertIs(berth.session(), first)
        first.close()
        with self.assertRaisesRegex(berth.Stale, 'closed'):
            first.measure()
        self.assertTrue(berth.session().measure().host_used.known)

    def test_after_a_fork_the_child_is_told_to_attach_anew(self):
        keeper = manager(Framework())
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                keeper.step()
                os.write(writing, b'stepped')
            except berth.Stale:
                os.write(writing, repr(berth.session()).encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading) as stream:
            self.assertIn('no lease', stream.read())
        keeper.step()


if __name__ == '__main__':
    unittest.main()
