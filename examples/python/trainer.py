#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that trains nothing and keeps an eye on its memory as a trainer should: each step takes
memory and gives it back, and, with --leak, a part is lost. Where a step does not fit it is done in
smaller pieces. It uses the CUDA driver, simulated or real, in PyTorch's place.

Exit: 0 all steps were done; 69 no driver; 75 it has saved itself and ended, because memory came to
its end or it was asked to.
"""
import argparse
import ctypes
import os
import sys
import time
from typing import Optional

import berth

MIB = 1 << 20


class Driver(berth.Provider):
    """The framework: it has no cache."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL('libcuda.so.1')
        device, context = ctypes.c_int(), ctypes.c_void_p()
        for call, arguments in (('cuInit', (0,)), ('cuDeviceGet', (ctypes.byref(device), 0)),
                                ('cuDevicePrimaryCtxRetain', (ctypes.byref(context), device)),
                                ('cuCtxSetCurrent', (context,))):
            self._have(call, *arguments)
        self.live = 0

    def _have(self, call: str, *arguments: object) -> None:
        result = getattr(self._cuda, call)(*arguments)
        if result == 2:  # CUDA_ERROR_OUT_OF_MEMORY
            raise MemoryError(f'{call}: out of memory')
        if result != 0:
            raise OSError(f'{call}: error {result}')

    def allocate(self, size: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        self._have('cuMemAlloc_v2', ctypes.byref(address), ctypes.c_size_t(size))
        self.live += size
        return address

    def release(self, address: ctypes.c_uint64, size: int) -> None:
        self._have('cuMemFree_v2', address)
        self.live -= size

    def allocated(self, device: int) -> Optional[int]:
        return self.live

    def synchronize(self, device: int) -> bool:
        self._have('cuCtxSynchronize')
        return True


class Trainer:
    def __init__(self, driver: Driver, arguments: argparse.Namespace) -> None:
        self.driver, self.save_to = driver, arguments.save
        self.step, self.ends = 0, False
        self.sample_bytes = arguments.sample * MIB
        self.manager = berth.VramManager(
            provider=driver, sample_every=1e-9, checkpoint=self.save, pause=self.end,
            on_event=self.tell)
        self.leak_bytes = arguments.leak * MIB
        driver.allocate(arguments.base * MIB)

        @berth.retry_on_oom(batch_size=arguments.batch)
        def train_step(*, batch_size: int, accumulation: int) -> None:
            for _ in range(accumulation):
                size = batch_size * self.sample_bytes
                activations = driver.allocate(size)
                driver.release(activations, size)
        self.train_step = train_step

    def save(self, _ask: Optional[berth.Ask] = None) -> bool:
        """Written beside and renamed: a save is there whole, or not at all."""
        if self.save_to is None:
            return False
        with open(self.save_to + '.tmp', 'w', encoding='utf-8') as stream:
            stream.write(f'step {self.step}\n')
        os.replace(self.save_to + '.tmp', self.save_to)
        return True

    def end(self, _ask: Optional[berth.Ask] = None) -> None:
        self.ends = True

    def tell(self, event: berth.Event) -> None:
        print(f'trainer: step {event.step}: {event.text}', file=sys.stderr)

    def train(self, steps: int, pause: float) -> None:
        while self.step < steps and not self.ends:
            self.step += 1
            self.train_step()
            if self.leak_bytes:
                self.driver.allocate(self.leak_bytes)
            self.manager.step()
            # Between two steps is where a save is easy. Without a lease nobody asks.
            berth.session().serve(timeout=pause, checkpoint=self.save, release=self.end)
            if pause and berth.session().lease is None:
                time.sleep(pause)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (('steps', 20), ('base', 256), ('sample', 4), ('batch', 16), ('leak', 0)):
        parser.add_argument(f'--{name}', type=int, default=default)
    parser.add_argument('--save')
    parser.add_argument('--pause', type=float, default=0)
    arguments = parser.parse_args()
    try:
        trainer = Trainer(Driver(), arguments)
    except OSError as error:
        print(f'trainer: no driver: {error}', file=sys.stderr)
        return 69
    trainer.train(arguments.steps, arguments.pause)
    plan = trainer.train_step.plan()
    print(f'{trainer.manager.status_line()} | Batch: {plan.batch_size} x {plan.accumulation}')
    return 75 if trainer.ends else 0


if __name__ == '__main__':
    sys.exit(main())
