#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cost of the guard for a program on the simulated driver: to an allocation and its release, to the
# launch of a kernel, and to the start of processes. Each is measured without it and with it in
# turn, so that what else the machine does meets both. How the guard itself does with many threads
# is measured on a driver that does nothing, since the simulated one has a lock.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=1x64GiB,context=2MiB
export BERTH_SIM_NAME=bench-$$
trap 'berth daemon stop >/dev/null 2>&1 || true; rm -rf "$world"' EXIT

row() { # row NAME VALUE UNIT [FIELDS]
  printf '{"name":"%s","value":%s,"unit":"%s"%s}\n' "$1" "$2" "$3" "${4:+,$4}"
}
mode=preload
calls() { # calls ENFORCE WORD...
  local enforce=$1
  shift
  berth run -q -m 32G --enforce "$enforce" --guard-mode "$mode" -- bench_driver_calls "$@"
}
both() { # both NAME UNIT FIELDS WORD...: its two rows; $plain and $guarded, the least of three each
  local name=$1 unit=$2 fields=$3 round
  shift 3
  for round in 1 2 3; do
    calls none "$@" >>"$world/plain"
    calls guard "$@" >>"$world/guarded"
  done
  plain=$(sort -g "$world/plain" | head -n 1)
  guarded=$(sort -g "$world/guarded" | head -n 1)
  rm "$world/plain" "$world/guarded"
  row "$name, plain" "$plain" "$unit"
  row "$name, guarded" "$guarded" "$unit" "\"against\":\"$name, plain\"${fields:+,$fields}"
}
added() { # added NAME UNIT FIELDS WORD...: these, and the difference with the FIELDS
  both "$1" "$2" "" "${@:4}"
  row "added to $1" "$(awk "BEGIN { print $guarded - $plain }")" "$2" "$3"
}
ratio() { # ratio NAME A B [FIELDS]
  row "$1" "$(awk "BEGIN { print $2 / $3 }")" "of 1 thread" "${4-}"
}

added "alloc and free" ns '"limit":100' pairs 1 0 1
plain_alone=$plain guarded_alone=$guarded
# Beside many as beside none; the rest is for what else a shared machine does.
added "alloc and free beside 100000" ns \
  '"limit":100,"against":"added to alloc and free","ratio_limit":1.25' pairs 1 100000 1
# Of these the driver has to look for each in memory that no cache has, and the guard as well.
added "free one of 1000, alloc" ns '"limit":100' shuffled 1000
added "free one of 100000, alloc" ns '"limit":200' shuffled 100000
added "free one of 1000000, alloc" ns '"limit":300' shuffled 1000000
# What the process's turn on the processor takes is in both; so not the slowest of all.
added "the slowest 0.01 % of 1000000 allocs" us '"limit":50' fill 1000000
# The driver is asked three more things for it: which pool, and twice what that has reserved.
added "async alloc and free" ns "" async
added "unmap beside 50000" us '"limit":10' unmap 50000
added "synchronise with 200 pools" us '"limit":10' sync 200
added "alloc and free, 64 processes" ns '"limit":400' pairs 1 0 64

both "alloc and free, 8 threads" ns "" pairs 8 0 1
ratio "8 threads, plain" "$plain" "$plain_alone"
ratio "8 threads, guarded" "$guarded" "$guarded_alone" \
  '"against":"8 threads, plain","ratio_limit":1.25'
export DRIVER=$build_dir/lib/bench/libcuda.so.1
both "nothing behind it, 1 thread" ns "" pairs 1 0 1
one=$guarded
both "nothing behind it, 8 threads" ns "" pairs 8 0 1
ratio "8 threads, the guard alone" "$guarded" "$one"
unset DRIVER

added "a launch" ns '"limit":10' launches

added "start of a CUDA program" ms '"limit":1' starts 1 once
added "start of a program without CUDA" ms '"limit":1' starts 1 nothing
both "64 starts at once" ms '"ratio_limit":2' starts 64 once

mode=audit
added "alloc and free under audit" ns '"limit":200' pairs 1 0 1
added "start of a CUDA program under audit" ms '"limit":1' starts 1 once
added "start under audit without CUDA" ms '"limit":1' starts 1 nothing
