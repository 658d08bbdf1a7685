# SPDX-License-Identifier: Apache-2.0
"""What helpers of trainers ask: the GPUs of this process, whether something fits, what a model
takes, and a model on several GPUs."""
from __future__ import annotations

import dataclasses
import json
import os
import sys
import warnings
from typing import Any, Dict, List, Optional, Union

from . import _abi, _errors as errors
from ._library import check
from ._units import Size, bytes_of, mib
from ._measure import Room
from ._provider import TorchProvider, torch_cuda
from ._session import session as default_session


def has_room(size: Size, device: int = 0) -> Room:
    """Whether so much would find room on the device, and in the budget if there is a lease: its
    `answer` is True, False, or None for unknown, and its figures stand beside it."""
    return default_session().has_room(size, device)


def _gib(size: Optional[int]) -> Optional[float]:
    return None if size is None else size / (1 << 30)


def get_gpu_info() -> Dict[str, Any]:
    """The GPUs of this process, with the names that helpers of this kind have: `available`,
    `device_count`, `lease`, and for each of `devices` its `index`, `name`, `uuid`,
    `total_memory_gb`, `free_memory_gb` (by the driver's account of all processes), and
    `budget_gb`; `allocated_memory_gb`, `reserved_memory_gb` and `compute_capability` from PyTorch,
    once it uses a GPU. GB is GiB; what is unknown is None."""
    of = default_session()
    provider, cuda = TorchProvider(), torch_cuda()
    devices: List[Dict[str, Any]] = []
    for device in of.devices:
        measured = of.measure(device.index)
        capability = None if cuda is None else cuda.get_device_capability(device.index)
        devices.append({
            'index': device.index,
            'name': device.name,
            'uuid': device.uuid,
            'total_memory_gb': _gib(device.total),
            'free_memory_gb': _gib(measured.device_free.bytes),
            'budget_gb': _gib(measured.lease_budget.bytes),
            'allocated_memory_gb': _gib(provider.allocated(device.index)),
            'reserved_memory_gb': _gib(provider.reserved(device.index)),
            'compute_capability': None if capability is None else '.'.join(map(str, capability)),
        })
    return {'available': bool(devices), 'device_count': len(devices), 'lease': of.lease,
            'devices': devices}


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Bytes that training takes; None where only the parameters are known."""
    parameters: int
    weights: int
    gradients: int
    optimizer: int
    activations: Optional[int]
    peak: Optional[int]  # The most at one moment, without the driver's context (some 500 MiB).
    largest_batch: Optional[int]  # Sequences whose peak fits into the room.

    def __str__(self) -> str:
        return (f'{self.parameters} parameters: weights {mib(self.weights)}, gradients '
                f'{mib(self.gradients)}, optimizer {mib(self.optimizer)}, activations '
                f'{mib(self.activations)}, peak {mib(self.peak)}')


def estimate(model: Union[int, str, 'os.PathLike[str]', Dict[str, Any]], *, batch: int = 1,
             sequence: int = 1_024, precision: str = 'fp32', optimizer: str = 'adamw',
             attention: str = 'eager', checkpointing: bool = False,
             room: Optional[Size] = None) -> Estimate:
    """What training a transformer takes, before it is tried (docs/estimate.md has the formulas).
    `model` is its config as a dict, the path of config.json or of the directory with one, or a
    number of parameters. `room` asks for the largest batch that fits into it. InvalidArgument names
    the key that is missing or not understood."""
    parameters, config = 0, None
    if isinstance(model, int):
        parameters = model
    elif isinstance(model, dict):
        config = json.dumps(model)
    else:
        path = os.path.join(model, 'config.json') if os.path.isdir(model) else model
        with open(path, encoding='utf-8') as stream:
            config = stream.read()
    training = _abi.berth_training(
        checkpointing=checkpointing, batch=batch, sequence=sequence,
        room_bytes=0 if room is None else bytes_of(room, 'room'), precision=precision.encode(),
        optimizer=optimizer.encode(), attention=attention.encode())
    told = _abi.berth_estimate()
    check('berth_estimate_training', None if config is None else config.encode(), parameters,
          training, told)
    layers = bool(told.layers_known)
    return Estimate(parameters=told.parameters, weights=told.weights_bytes,
                    gradients=told.gradients_bytes, optimizer=told.optimizer_bytes,
                    activations=told.activations_bytes if layers else None,
                    peak=told.peak_bytes if layers else None,
                    largest_batch=told.largest_batch if layers and room is not None else None)


def wrap_multi_gpu(model: Any, device_ids: Optional[List[int]] = None) -> Any:
    """The model for several GPUs: DistributedDataParallel where RANK is set, as torchrun does it;
    else DataParallel where there is more than one GPU, which says once what it costs; else the
    model as it is. unwrap() gives it back."""
    torch = sys.modules.get('torch')
    if torch is None:
        raise errors.Unavailable('the program has not imported torch, so there is nothing to wrap')
    if 'RANK' in os.environ:
        if not torch.distributed.is_initialized():
            raise errors.InvalidArgument(
                'RANK is set and no process group is there: call '
                'torch.distributed.init_process_group() first')
        own = [int(os.environ.get('LOCAL_RANK', '0'))] if torch.cuda.is_available() else None
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=device_ids or own)
    count = len(device_ids) if device_ids is not None else torch.cuda.device_count()
    if count < 2:
        return model
    warnings.warn('DataParallel copies the model to each GPU at each step, and gathers on the '
                  'first, which has less room for it; torchrun with a process for each GPU has '
                  'neither', RuntimeWarning, stacklevel=2)
    return torch.nn.DataParallel(model, device_ids=device_ids)


def unwrap(model: Any) -> Any:
    """The model inside of what wrap_multi_gpu() has made."""
    torch = sys.modules.get('torch')
    if torch is None:
        return model
    wrappers = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while isinstance(model, wrappers):
        model = model.module
    return model
