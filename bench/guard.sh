#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the guard adds to a program on the simulated driver: to an allocation and its release, alone
# and beside 100 000 live ones; and to the start of a process that never touches CUDA. Launches are
# not touched, so they cost nothing.
set -euo pipefail
caller=$build_dir/bin/tests/cuda_caller
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=1x64GiB,context=2MiB
export BERTH_SIM_NAME=bench-$$
trap 'berth daemon stop >/dev/null 2>&1 || true; rm -rf "$world"' EXIT

row() { # row NAME VALUE UNIT [AGAINST [LIMIT]]
  printf '{"name":"%s","value":%s,"unit":"%s","against":"%s"%s}\n' "$1" "$2" "$3" "${4-}" \
    "${5:+,\"limit\":$5}"
}
pairs() { # pairs ENFORCE LIVE: ns
  printf 'retain 0\ntime_pairs 20000 %s\n' "$2" |
    berth run -q -m 32G --enforce "$1" -- "$caller" dlsym | tail -n 1
}
least() { sort -n | head -n 1; }
added() { # added NAME LIVE LIMIT
  local plain guarded
  # In turn, so that what else the machine does meets both.
  plain=$(for i in 1 2 3; do pairs none "$2"; pairs guard "$2" >>"$world/guarded"; done | least)
  guarded=$(least <"$world/guarded")
  rm "$world/guarded"
  row "alloc and free, $1, plain" "$plain" ns
  row "alloc and free, $1, guarded" "$guarded" ns "alloc and free, $1, plain"
  row "added to alloc and free, $1" "$(awk "BEGIN { print $guarded - $plain }")" ns "" "$3"
}
starts() { # starts [VARIABLE...]: ms for one of 200 starts of true
  local from=$EPOCHREALTIME i
  for ((i = 0; i < 200; ++i)); do env "$@" true; done
  awk "BEGIN { print ($EPOCHREALTIME - $from) * 1000 / 200 }"
}

added "alone" 0 200
added "100000 live" 100000 200
row "start of true, plain" "$(starts A=1)" ms
row "start of true, guarded" "$(starts LD_PRELOAD="$build_dir/lib/libberth-guard.so")" ms \
  "start of true, plain"
