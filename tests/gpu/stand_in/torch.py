# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch in rehearsals of `./dev gpu` (trainer_test.cc, bare_machine, and the tests
of tools/gpu.bash). It takes memory of the driver, as PyTorch does, and computes nothing."""
import ctypes
import os
import types

__version__ = '0+stand_in'
version = types.SimpleNamespace(cuda='none')
utils = types.SimpleNamespace(cmake_prefix_path=os.environ.get(
    'STAND_IN_CMAKE', os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cmake')))
uint8 = None

_OUT_OF_MEMORY = 2


def compiled_with_cxx11_abi():
    return os.environ.get('STAND_IN_ABI') != 'old'


class _OutOfMemoryError(RuntimeError):
    pass


def _call(name, *arguments):
    code = getattr(ctypes.CDLL('libcuda.so.1'), name)(*arguments)
    if code == _OUT_OF_MEMORY:
        raise _OutOfMemoryError(f'{name}: out of memory')
    if code != 0:
        raise RuntimeError(f'{name}: {code}')


def _init():
    context = ctypes.c_void_p()
    _call('cuInit', 0)
    _call('cuDevicePrimaryCtxRetain', ctypes.byref(context), 0)
    _call('cuCtxSetCurrent', context)


def empty(count, dtype, device):
    assert dtype is uint8 and device == 'cuda'
    memory = ctypes.c_uint64()
    _call('cuMemAlloc_v2', ctypes.byref(memory), ctypes.c_size_t(count))
    return memory


cuda = types.SimpleNamespace(init=_init, OutOfMemoryError=_OutOfMemoryError)
