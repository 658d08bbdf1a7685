# SPDX-License-Identifier: Apache-2.0
"""What a training of a picture does: takes memory of a simulated GPU, and tells of steps, loss and
phases that were made up. Usage: training.py BYTES BUSY."""
import subprocess
import sys
import time

import berth

STEPS, EVERY = 6000, 0.04
PHASES = ((300, 'warmup'), (2400, 'full'), (STEPS, 'decay'))

user = subprocess.Popen(['vram_user', '--quiet', '--bytes', sys.argv[1], '--busy', sys.argv[2],
                         '--hold', '600s'])
for step in range(1, STEPS + 1):
    loss = 3.0 + 6.5 / (1 + step / 90) + (step * 7 % 13) / 60
    phase = next(name for end, name in PHASES if step <= end)
    berth.session().report_progress(step, STEPS, left=45 * 60, loss=loss, phase=phase)
    if step % 50 == 0:
        print(f'step {step} of {STEPS}  {phase:6}  loss {loss:.2f}', flush=True)
    time.sleep(EVERY)
user.terminate()
