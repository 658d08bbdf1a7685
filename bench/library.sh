#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cost of libberth in a program's step, under `berth run` on the simulated driver: a step of the
# VRAM manager in which nothing is due, a measurement from what is known, a fresh one, and a report
# of progress; beside one look at the clock in the same process. Then the same from Python.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=1x16GiB
export BERTH_SIM_NAME=bench-$$
trap 'berth daemon stop >/dev/null 2>&1 || true; rm -rf "$world"' EXIT

row() { # row NAME CALL [FIELDS]
  printf '{"name":"%s","value":%s,"unit":"ns","against":"a look at the clock"%s}\n' "$1" \
    "$(sed -n "s/^$2 //p" "$world/figures")" "${3:+,$3}"
}
berth run -q -m 2G -- bench_library_calls >"$world/figures"
row "a look at the clock" clock
row "a step of the VRAM manager" step '"limit":2000'
row "a measurement, cached" cached '"limit":5000'
row "a measurement, fresh" fresh '"limit":200000'
row "a report of progress" progress
berth run -q -m 2G -- env PYTHONPATH="$PWD/python" python3 bench/support/library_calls.py \
  >"$world/figures"
row "a step of the VRAM manager, Python" step
row "a report of progress, Python" progress
