# SPDX-License-Identifier: Apache-2.0
"""As bench/support/library_calls.c, of what a program in Python calls in each step: prints
«step NS» and «progress NS», the median of many rounds."""
import statistics
import time

import berth

ROUNDS, CALLS = 41, 1000


class Framework(berth.Provider):
    def allocated(self, device):
        return 1 << 30


session = berth.session()
manager = berth.VramManager(session, sample_every=3600, provider=Framework())


def time_of(name, call):
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for done in range(CALLS):
            call(done)
        rounds.append((time.perf_counter_ns() - begin) / CALLS)
    print(f'{name} {statistics.median(rounds):.1f}')


time_of('step', lambda _: manager.step())
time_of('progress', session.report_progress)
