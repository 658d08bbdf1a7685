#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions to PyTorch, against a stand-in with the interface of torch.cuda. PyTorch itself is
not used: the allocator's own figures are seen only where there is one and a GPU."""
import contextlib
import os
import sys
import types
import unittest
import warnings

import berth

os.environ.pop('BERTH_SIM', None)
MIB = 1 << 20


class Cuda(types.SimpleNamespace):
    """torch.cuda of two GPUs of 16 GiB; what it was asked stands in `calls`."""

    class OutOfMemoryError(RuntimeError):
        pass

    def __init__(self):
        super().__init__(initialized=True, live=300 * MIB, cached=200 * MIB, calls=[], total=16384)

    def is_initialized(self):
        return self.initialized

    def is_available(self):
        return True

    def device_count(self):
        return 2

    def memory_allocated(self, device):
        return self.live

    def memory_reserved(self, device):
        return self.live + self.cached

    def device(self, device):
        self.calls.append(('device', device))
        return contextlib.nullcontext()

    def empty_cache(self):
        self.cached = 0
        self.calls.append('empty_cache')

    def synchronize(self, device):
        self.calls.append(('synchronize', device))

    def get_device_properties(self, device):
        return types.SimpleNamespace(total_memory=self.total * MIB)

    def get_device_capability(self, device):
        return (9, 0)

    def set_per_process_memory_fraction(self, fraction, device):
        self.calls.append(('fraction', round(fraction, 3), device))


class Wrapper:
    def __init__(self, module, device_ids=None):
        self.module, self.device_ids = module, device_ids


class DataParallel(Wrapper):
    pass


class DistributedDataParallel(Wrapper):
    pass


def stand_in():
    torch = types.ModuleType('torch')
    torch.cuda = Cuda()
    torch.nn = types.SimpleNamespace(
        DataParallel=DataParallel,
        parallel=types.SimpleNamespace(DistributedDataParallel=DistributedDataParallel))
    torch.distributed = types.SimpleNamespace(is_initialized=lambda: False)
    return torch


class Torch(unittest.TestCase):
    def setUp(self):
        self.torch = sys.modules['torch'] = stand_in()
        self.addCleanup(sys.modules.pop, 'torch', None)

    def test_it_is_never_imported(self):
        del sys.modules['torch']
        self.assertEqual(berth.VramManager()._calls._provider, None)
        berth.free_memory()
        berth.get_gpu_info()
        self.assertIs(berth.unwrap(self), self)
        with self.assertRaisesRegex(berth.Unavailable, 'import'):
            berth.wrap_multi_gpu(self)
        self.assertNotIn('torch', sys.modules)

    def test_a_manager_has_its_figures_and_empties_its_cache(self):
        with berth.VramManager(basis='allocator', warn='1G', cleanup_at='2G', critical='3G',
                               sample_every=1e-9) as keeper:
            measured = keeper.measure()
            self.assertEqual(measured.provider_allocated.bytes, 300 * MIB)
            self.assertEqual(measured.provider_reserved.bytes, 500 * MIB)
            self.assertEqual(measured.provider_reserved.source, 'provider')
            self.assertEqual(keeper.cleanup(), 200 * MIB)
            self.assertEqual(self.torch.cuda.calls,
                             [('device', 0), 'empty_cache', ('synchronize', 0)])

    def test_before_the_program_uses_a_gpu_nothing_is_known_and_no_context_made(self):
        self.torch.cuda.initialized = False
        with berth.VramManager() as keeper:
            self.assertFalse(keeper.measure().provider_allocated.known)
            with self.assertRaises(berth.Unavailable):
                keeper.cleanup()
        berth.free_memory()
        self.assertEqual(self.torch.cuda.calls, [])

    def test_its_error_is_caught_and_its_cache_emptied_before_the_next_try(self):
        @berth.retry_on_oom(batch_size=8, device=1)
        def step(*, batch_size, accumulation):
            if self.torch.cuda.cached > 0 or batch_size > 4:
                raise self.torch.cuda.OutOfMemoryError('Tried to allocate 20 GiB')
            return batch_size
        self.assertEqual(step(), 4)
        self.assertEqual(self.torch.cuda.calls, [('device', 1), 'empty_cache', ('synchronize', 1)])

    def test_a_cap_is_applied_once(self):
        self.assertEqual(berth.cap_torch(8 << 30), 0.5)
        self.assertEqual(self.torch.cuda.calls, [('fraction', 0.5, 0)])
        self.torch.cuda.calls.clear()
        self.torch.cuda.total = 8192  # As the guard shows it under a budget of 8 GiB.
        self.assertEqual(berth.cap_torch(8 << 30), 1)
        self.assertEqual(berth.cap_torch(None), 1)
        self.assertEqual(self.torch.cuda.calls, [])

    def test_a_model_is_wrapped_as_the_program_was_started(self):
        with self.assertWarnsRegex(RuntimeWarning, 'torchrun'):
            wrapped = berth.wrap_multi_gpu('model')
        self.assertIsInstance(wrapped, DataParallel)
        self.assertEqual(berth.unwrap(wrapped), 'model')
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            self.assertEqual(berth.wrap_multi_gpu('model', device_ids=[1]), 'model')
            os.environ['RANK'], os.environ['LOCAL_RANK'] = '3', '1'
            self.addCleanup(os.environ.pop, 'RANK')
            self.addCleanup(os.environ.pop, 'LOCAL_RANK')
            with self.assertRaisesRegex(berth.InvalidArgument, 'init_process_group'):
                berth.wrap_multi_gpu('model')
            self.torch.distributed.is_initialized = lambda: True
            wrapped = berth.wrap_multi_gpu('model')
        self.assertIsInstance(wrapped, DistributedDataParallel)
        self.assertEqual(wrapped.device_ids, [1])
        self.assertEqual(berth.unwrap(DataParallel(wrapped)), 'model')


if __name__ == '__main__':
    unittest.main()
