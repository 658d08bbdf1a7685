#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps that run out of memory, at each allocation in turn, of a device that is made up; nothing is
asked of a daemon."""
import os
import tempfile
import unittest
import warnings
import weakref

import berth

os.environ.pop('BERTH_SIM', None)
BATCH, WEIGHTS, LAYERS = 64, 8, 7


class Block:
    """Of a tensor: it counts as held as long as anybody knows it."""

    def __init__(self, memory, count):
        self.values = [0.0] * count
        memory.live += 1
        weakref.finalize(self, memory.given_back)


class Memory:
    """Runs out at one allocation, or above a size."""

    def __init__(self, fails_at=0, fails_above=1 << 60, error=MemoryError):
        self.fails_at, self.fails_above, self.error = fails_at, fails_above, error
        self.allocations = self.live = 0

    def given_back(self):
        self.live -= 1

    def take(self, count):
        self.allocations += 1
        if self.allocations == self.fails_at or count > self.fails_above:
            raise self.error('CUDA out of memory')
        return Block(self, count)


def input_of(sample, weight):
    return (sample * 31 + weight * 17) % 23 / 23 - 0.4


def gradient(memory, batch_size, accumulation):
    """Of a linear model's mean squared error over the whole batch, in pieces."""
    total = memory.take(WEIGHTS)
    for part in range(accumulation):
        activations = [memory.take(batch_size) for _ in range(LAYERS)]
        for at in range(batch_size):
            sample = part * batch_size + at
            error = sum(0.3 * input_of(sample, weight) for weight in range(WEIGHTS)) - 1
            activations[0].values[at] = error
            for weight in range(WEIGHTS):
                total.values[weight] += 2 * error * input_of(sample, weight) / BATCH
    return total.values


class Retry(unittest.TestCase):
    def test_out_of_memory_at_any_allocation_is_survived_with_the_same_gradient(self):
        expected = gradient(Memory(), BATCH, 1)
        for fails_at in range(1, 51):
            memory, held = Memory(fails_at=fails_at), []

            @berth.retry_on_oom(batch_size=BATCH, free=lambda: held.append(memory.live))
            def step(scale, *, batch_size, accumulation):
                self.assertEqual(batch_size * accumulation, BATCH)
                return [scale * value for value in gradient(memory, batch_size, accumulation)]

            for _ in range(8):  # Each step has some: so later ones are reached, too.
                for value, wanted in zip(step(1.0), expected):
                    self.assertAlmostEqual(value, wanted, delta=1e-5)
            self.assertEqual(held, [0], 'what the step held was not let go')
            self.assertEqual(step.plan().batch_size, BATCH // 2)
            self.assertEqual(step.plan().failures, 1)

    def test_errors_of_frameworks_are_known_by_what_they_say(self):
        for error in (MemoryError, RuntimeError):
            memory = Memory(fails_above=10, error=error)

            @berth.retry_on_oom(batch_size=BATCH)
            def step(*, batch_size, accumulation):
                gradient(memory, batch_size, accumulation)
            step()
            self.assertEqual((step.plan().batch_size, step.plan().accumulation), (8, 8))
        self.assertFalse(berth.is_out_of_memory(RuntimeError('shapes differ')))
        self.assertFalse(berth.is_out_of_memory(ValueError('out of memory')))

    def test_other_errors_go_through(self):
        @berth.retry_on_oom(batch_size=4)
        def step(*, batch_size, accumulation):
            raise KeyError('wrong')
        with self.assertRaises(KeyError):
            step()
        self.assertEqual(step.plan().batch_size, 4)

    def test_where_nothing_fits_the_error_says_what_to_change(self):
        memory = Memory(fails_above=0)

        @berth.retry_on_oom(batch_size=4)
        def step(*, batch_size, accumulation):
            gradient(memory, batch_size, accumulation)
        with self.assertRaisesRegex(berth.OutOfMemory, 'gradient checkpointing') as caught:
            step()
        self.assertIsInstance(caught.exception, MemoryError)
        self.assertIn('CUDA out of memory', str(caught.exception.__cause__))

    def test_a_kind_of_error_may_be_named(self):
        class Full(Exception):
            pass
        tried = []

        @berth.retry_on_oom(batch_size=4, catch=(Full,), smallest=2)
        def step(*, batch_size, accumulation):
            tried.append((batch_size, accumulation))
            raise Full if batch_size > 2 else MemoryError
        with self.assertRaises(MemoryError):
            step()
        self.assertEqual(tried, [(4, 1), (2, 2)])

    def test_what_has_worked_is_remembered_and_what_cannot_be_is_warned_of_once(self):
        with tempfile.TemporaryDirectory() as directory:
            for first in (True, False):
                memory = Memory(fails_above=16)

                @berth.retry_on_oom(batch_size=BATCH, fingerprint='linear', directory=directory)
                def step(*, batch_size, accumulation):
                    gradient(memory, batch_size, accumulation)
                step()
                self.assertEqual(step.plan().batch_size, 16)
                self.assertEqual(step.plan().remembered, not first)
                self.assertEqual(step.plan().failures, 2 if first else 0)

        @berth.retry_on_oom(batch_size=2, fingerprint='x', directory='/dev/null/nowhere')
        def lost(*, batch_size, accumulation):
            pass
        with self.assertWarnsRegex(RuntimeWarning, 'not remembered: /dev/null'):
            lost()
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            lost()

    def test_a_size_that_makes_no_sense_is_named(self):
        @berth.retry_on_oom(batch_size=0)
        def step(*, batch_size, accumulation):
            pass
        with self.assertRaisesRegex(berth.InvalidArgument, 'batch'):
            step()


class Find(unittest.TestCase):
    def test_the_largest_that_fits_is_found_to_within_the_margin(self):
        tried = []

        def trial(size):
            tried.append(size)
            gradient(Memory(fails_above=200), size, 1)
        found = berth.find_batch_size(trial, largest=1_000)
        self.assertLessEqual(found, 200)
        self.assertGreaterEqual(found, 175)
        self.assertGreater(max(tried), 200)
        self.assertLess(len(tried), 25)

    def test_a_trial_may_return_false(self):
        self.assertEqual(berth.find_batch_size(lambda size: size <= 1, largest=64), 1)

    def test_not_even_one(self):
        with self.assertRaisesRegex(berth.OutOfMemory, 'batch of one'):
            berth.find_batch_size(lambda size: False)

    def test_other_errors_end_the_search(self):
        tried = []

        def trial(size):
            tried.append(size)
            raise KeyError('wrong')
        with self.assertRaisesRegex(KeyError, 'wrong'):
            berth.find_batch_size(trial)
        self.assertEqual(len(tried), 1)


class Estimated(unittest.TestCase):
    CONFIG = {'model_type': 'gpt2', 'n_layer': 12, 'n_embd': 768, 'n_head': 12,
              'n_positions': 1024, 'vocab_size': 50257}

    def test_a_config_is_estimated_as_it_was_measured(self):  # docs/estimate.md
        found = berth.estimate(self.CONFIG, batch=4, sequence=256, room='8G')
        self.assertAlmostEqual(found.activations / (1 << 20), 922.5, delta=0.1)
        larger = berth.estimate(self.CONFIG, batch=found.largest_batch + 1, sequence=256)
        self.assertGreater(larger.peak, 8 << 30)
        self.assertIsNone(larger.largest_batch)
        self.assertIn('activations 9', str(found))

    def test_parameters_alone_leave_activations_unknown(self):
        found = berth.estimate(1_000_000)
        self.assertEqual(found.weights + found.gradients + found.optimizer, 16_000_000)
        self.assertIsNone(found.activations)
        self.assertIn('peak unknown', str(found))

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(berth.InvalidArgument, 'precision.*fp7'):
            berth.estimate(1, precision='fp7')
        with self.assertRaises(berth.InvalidArgument):
            berth.estimate({})
        with self.assertRaises(FileNotFoundError):
            berth.estimate('/nowhere/config.json')


if __name__ == '__main__':
    unittest.main()
