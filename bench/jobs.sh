#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs: from the command line of `berth submit` to the first line of the job on a free GPU, with a
# keeper running; task-spooler's beside it. And how long it takes to submit a thousand: by as many
# commands, and by one --each, on disk when they return.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=1x64GiB
export BERTH_SIM_NAME=bench-$$ TS_SOCKET=$world/tsp TMPDIR=$world
cd "$world"
end() {
  berth daemon stop >/dev/null 2>&1 || true
  kill "$(cat "$world"/state/berth/*/sim/*/jobs/keeper.lock)" 2>/dev/null || true
  if command -v tsp >/dev/null; then tsp -K || true; fi
  rm -rf "$world"
}
trap end EXIT

row() { # row NAME VALUE UNIT [FIELDS]
  printf '{"name":"%s","value":%s,"unit":"%s"%s}\n' "$1" "$2" "$3" "${4:+,$4}"
}
since() { awk "BEGIN { printf \"%.1f\", ($EPOCHREALTIME - $1) * 1000 }"; } # since TIME: ms
# starts WORD...: submits 30 jobs, one after the end of the other; $median ms until each has begun.
starts() {
  local round begun
  for round in $(seq 30); do
    rm -f began
    begun=$EPOCHREALTIME
    # shellcheck disable=SC2016 # For the job's shell.
    "$@" bash -c 'echo $EPOCHREALTIME >began.new; mv began.new began' >/dev/null
    until [[ -e began ]]; do sleep 0.005; done
    awk "BEGIN { printf \"%.2f\\n\", ($(<began) - $begun) * 1000 }" >>times
    sleep 0.05 # What follows the end of the last one is no part of the next.
  done
  median=$(sort -g times | sed -n 15p)
  rm times
}

berth submit -q -m 1G -- true >/dev/null
berth wait 1
if command -v tsp >/dev/null; then
  tsp true >/dev/null
  starts tsp
  row "submit to start under task-spooler" "$median" ms
  starts berth submit -q -m 1G --
  row "submit to start" "$median" ms '"limit":30,"against":"submit to start under task-spooler"'
else
  starts berth submit -q -m 1G --
  row "submit to start" "$median" ms '"limit":30'
fi

berth submit -q -m 60G -- sleep 1000 >/dev/null # Nothing of what follows is started.
begun=$EPOCHREALTIME
for _ in $(seq 100); do berth submit -q -m 30G -- true >/dev/null; done
row "submit of 100 jobs, a command each" "$(since "$begun")" ms
seq 10000 >list
begun=$EPOCHREALTIME
berth submit -q -m 30G --each list -- true >/dev/null
row "submit of 10000 jobs by --each" "$(since "$begun")" ms '"limit":1000'
sleep 1
keeper=$(cat "$world"/state/berth/*/sim/*/jobs/keeper.lock)
daemon=$(berth daemon status --json | jq .pid)
memory=$(ps -o rss= -p "$keeper,$daemon" | awk '{ sum += $1 } END { print sum / 1024 }')
row "memory of daemon and keeper with these" "$memory" MiB '"limit":100'
