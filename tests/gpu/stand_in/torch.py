# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch in rehearsals of `./dev gpu` (trainer_test.cc, bare_machine). It takes
memory of the driver, as PyTorch does, and computes nothing."""
import ctypes
import types

__version__ = '0+stand_in'
version = types.SimpleNamespace(cuda='none')
uint8 = None

_OUT_OF_MEMORY = 2


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
