#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch itself, on the CPU: its allocator runs out of memory below a limit of the system's, and
what the stand-in of torch_test.py has is held against torch.cuda. Without PyTorch it ends with 77,
and says so."""
import gc
import inspect
import os
import re
import resource
import sys
import tempfile
import unittest
import warnings

import berth
import torch_test

os.environ.pop('BERTH_SIM', None)
warnings.simplefilter('ignore')  # PyTorch's own, on machines without numpy.
try:
    import torch
except ImportError as error:
    print(f'SKIPPED: PyTorch cannot be imported here ({error}); nothing was tried with it')
    sys.exit(77)

MIB = 1 << 20
SAMPLE = 16 * MIB
BATCH = 64


def address_space():
    with open('/proc/self/statm', encoding='utf-8') as stream:
        return int(stream.read().split()[0]) * resource.getpagesize()


class RealTorch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.model = torch.nn.Linear(8, 4)
        self.inputs, self.targets = torch.randn(BATCH, 8), torch.randn(BATCH, 4)

    def leave(self, room):
        """From here on the process gets so many bytes more, and no more."""
        gc.collect()
        old = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + room, old[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, old)

    def take_gradient(self, batch_size, sample_bytes):
        self.model.zero_grad()
        for at in range(0, BATCH, batch_size):
            activations = torch.empty(batch_size * sample_bytes, dtype=torch.uint8)
            part = slice(at, at + batch_size)
            loss = (self.model(self.inputs[part]) - self.targets[part]).square().sum()
            (loss / BATCH).backward()
            del activations

    def test_a_step_that_runs_out_of_memory_is_done_in_pieces_with_the_same_gradient(self):
        self.take_gradient(BATCH, 0)
        expected = self.model.weight.grad.clone()

        @berth.retry_on_oom(batch_size=BATCH)
        def step(*, batch_size, accumulation):
            self.take_gradient(batch_size, SAMPLE)
        self.leave(room=BATCH * SAMPLE * 3 // 4)
        step()
        self.assertEqual((step.plan().batch_size, step.plan().accumulation), (BATCH // 2, 2))
        self.assertLess((self.model.weight.grad - expected).abs().max().item(), 1e-5)

    def test_a_batch_size_is_found_by_trials(self):
        self.leave(room=40 * SAMPLE)
        found = berth.find_batch_size(
            lambda size: torch.empty(size * SAMPLE, dtype=torch.uint8).numel(), largest=BATCH)
        self.assertLessEqual(found, 40)
        self.assertGreaterEqual(found, 30)

    def test_its_errors_are_known(self):
        with self.assertRaises(RuntimeError) as caught:
            torch.empty(1 << 60)
        self.assertTrue(berth.is_out_of_memory(caught.exception))
        with self.assertRaises(RuntimeError) as caught:
            torch.ones(2) @ torch.ones(3)
        self.assertFalse(berth.is_out_of_memory(caught.exception))

    def test_the_stand_in_has_the_interface_of_torch_cuda(self):
        ours = {name: member for name, member in inspect.getmembers(torch_test.Cuda)
                if not name.startswith('_') and callable(member)}
        self.assertGreater(len(ours), 8)
        for name, member in ours.items():
            real = getattr(torch.cuda, name)
            if inspect.isclass(member) or inspect.isclass(real):
                continue
            taken = list(inspect.signature(member).parameters)[1:]
            known = list(inspect.signature(real).parameters)
            self.assertEqual(taken, known[:len(taken)], name)

    def test_no_gpu_is_used_that_the_program_does_not_use(self):
        berth.free_memory()
        with berth.VramManager() as keeper:
            keeper.step()
            if not torch.cuda.is_initialized():
                self.assertFalse(keeper.measure().provider_allocated.known)
        self.assertEqual(torch.cuda.is_initialized(), False)

    def test_a_model_is_wrapped_in_a_process_group_and_unwrapped(self):
        if torch.cuda.device_count() < 2:
            self.assertIs(berth.wrap_multi_gpu(self.model), self.model)
        if not torch.distributed.is_available():
            self.skipTest('SKIPPED: this PyTorch has no torch.distributed')
        os.environ['RANK'] = '0'
        self.addCleanup(os.environ.pop, 'RANK')
        with self.assertRaisesRegex(berth.InvalidArgument, 'init_process_group'):
            berth.wrap_multi_gpu(self.model)
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group('gloo', init_method=f'file://{folder}/group',
                                                 rank=0, world_size=1)
            self.addCleanup(torch.distributed.destroy_process_group)
            if torch.cuda.is_available():
                self.skipTest('SKIPPED: a GPU is here; this is for machines without')
            wrapped = berth.wrap_multi_gpu(self.model)
        self.assertTrue(re.search('DistributedDataParallel', type(wrapped).__name__))
        self.assertIs(berth.unwrap(wrapped), self.model)


if __name__ == '__main__':
    unittest.main()
