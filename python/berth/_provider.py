# SPDX-License-Identifier: Apache-2.0
"""What a framework is asked for by a VramManager, and PyTorch's answers. PyTorch is never imported
here: its answers are unknown until the program has imported it and used a GPU."""
from __future__ import annotations

import gc
import sys
from typing import Any, Optional


class Provider:
    """What a framework that allocates can tell and do, of a device as CUDA numbers them. Each may
    be left as it is: not known, not done."""

    def allocated(self, device: int) -> Optional[int]:
        """Bytes in tensors."""
        return None

    def reserved(self, device: int) -> Optional[int]:
        """Bytes taken from the device, cached blocks included."""
        return None

    def empty_cache(self, device: int) -> bool:
        """Gives what is cached back to the device."""
        return False

    def synchronize(self, device: int) -> bool:
        """Returns when the device has done all that was asked of it."""
        return False


def torch_cuda() -> Optional[Any]:
    """torch.cuda, once the program has imported torch and used a GPU. Anything else would make a
    context, of some hundred MiB."""
    torch = sys.modules.get('torch')
    cuda = getattr(torch, 'cuda', None)
    return cuda if cuda is not None and cuda.is_initialized() else None


class TorchProvider(Provider):
    """PyTorch's caching allocator."""

    def allocated(self, device: int) -> Optional[int]:
        cuda = torch_cuda()
        return None if cuda is None else int(cuda.memory_allocated(device))

    def reserved(self, device: int) -> Optional[int]:
        cuda = torch_cuda()
        return None if cuda is None else int(cuda.memory_reserved(device))

    def empty_cache(self, device: int) -> bool:
        cuda = torch_cuda()
        if cuda is None:
            return False
        gc.collect()  # Cycles hold tensors, and tensors hold blocks.
        with cuda.device(device):
            cuda.empty_cache()
        return True

    def synchronize(self, device: int) -> bool:
        cuda = torch_cuda()
        if cuda is None:
            return False
        cuda.synchronize(device)
        return True


def cap_torch(budget: Optional[int], device: int = 0) -> float:
    """Keeps PyTorch's allocator on the device within so many bytes (None: all), and returns the
    fraction of what PyTorch sees of it. Under the guard that is the budget's size already, the
    fraction is 1, and nothing is set: a cap is applied once. It uses the device."""
    torch = sys.modules.get('torch')
    if torch is None or budget is None:
        return 1.0
    total = int(torch.cuda.get_device_properties(device).total_memory)
    fraction = min(1.0, budget / total) if total > 0 else 1.0
    if fraction < 1:
        torch.cuda.set_per_process_memory_fraction(fraction, device)
    return fraction


# What libraries beside PyTorch say when they have no memory; PyTorch passes it on.
_SIGNS = ('out of memory', "can't allocate memory", 'CUBLAS_STATUS_ALLOC_FAILED',
          'CUDNN_STATUS_ALLOC_FAILED', 'CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED')


def is_out_of_memory(error: BaseException) -> bool:
    """A MemoryError, PyTorch's OutOfMemoryError, or a RuntimeError that says so, as PyTorch before
    1.13, its CPU allocator, and cuBLAS and cuDNN do."""
    if isinstance(error, MemoryError):
        return True
    torch = sys.modules.get('torch')
    for place in (torch, getattr(torch, 'cuda', None)):
        kind = getattr(place, 'OutOfMemoryError', None)
        if isinstance(kind, type) and isinstance(error, kind):
            return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def free_memory(device: int = 0) -> None:
    """Gives back what nobody holds: garbage of Python, and PyTorch's cache."""
    gc.collect()
    provider = TorchProvider()
    if provider.empty_cache(device):
        provider.synchronize(device)
