#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From the allocation that takes a lease beyond 88 % of its budget to the first measure, at a sample
# each second: the save that its program is asked for, on the simulated driver. Each round begins at
# another moment between two samples.
set -euo pipefail
rounds=11
mkdir -p build
world=$(mktemp -d "$PWD/build/bench-pressure.XXXXXX")
export BERTH_SIM=1x16GiB BERTH_SIM_NAME=bench-pressure BERTH_RUNTIME_DIR=$world/run
export XDG_STATE_HOME=$world/state XDG_CONFIG_HOME=$world/config
unset BERTH_SOCKET BERTH_LEASE_ID BERTH_CONFIG
export saved=$world/saved
trap 'berth daemon stop >/dev/null 2>&1 || true; rm -rf "$world"' EXIT
mkfifo "$world/told"

once() { # seconds from the allocation to the save
  local line at run
  rm -f "$saved"
  berth run -q -m 4G --checkpoint 'cmd:date +%s%N >"$saved"' -- \
    bash -c "sleep 0.$((RANDOM % 10))$((RANDOM % 10)); exec vram_user --bytes 3500MiB --hold 60s" \
    >"$world/told" 2>"$world/said" &
  run=$!
  while read -r line && [[ $line != *holding* ]]; do :; done <"$world/told"
  at=$(date +%s%N)
  for _ in {1..1000}; do
    [[ ! -s $saved ]] || break
    sleep 0.01
  done
  [[ -s $saved ]] || {
    echo "bench: pressure: no measure within 10 s" >&2
    cat "$world/said" >&2
    exit 1
  }
  awk "BEGIN { print ($(cat "$saved") - $at) / 1e9 }"
  kill "$run"
  wait "$run" || true
}

berth status >/dev/null 2>&1
for ((round = 0; round < rounds; round++)); do
  once >>"$world/times"
done
sort -g "$world/times" >"$world/sorted"
row() { # row NAME VALUE [FIELDS]
  printf '{"name":"%s","value":%s,"unit":"s"%s}\n' "$1" "$2" "${3:+,$3}"
}
row "pressure to first measure, median" "$(sed -n "$(((rounds + 1) / 2))p" "$world/sorted")"
row "pressure to first measure, worst of $rounds" "$(tail -n 1 "$world/sorted")" '"limit":1.5'
