#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# libberth in programs: examples/library as this build has them, under `berth run` and without it.
load lib

simulated_driver() { echo "$(dirname "$(command -v berth)")/../lib/simgpu"; }

@test "without lease and driver all is unknown but the host's memory, and that is said once" {
  run --separate-stderr measure
  [[ $status == 0 ]]
  [[ ${lines[0]} == "libberth "*", lease 0, devices 0" ]]
  for figure in device_total device_used device_free process_used lease_used lease_budget; do
    grep -qx "$figure unknown" <<<"$output"
  done
  grep -Eqx "host_used [1-9][0-9]* MiB \(/proc\)" <<<"$output"
  [[ ${#stderr_lines[@]} == 1 ]]
  [[ $stderr == "berth: no lease (berth run gives a program one); libnvidia-ml.so.1 is not installed"* ]]
}

@test "without a lease the driver's figures are there all the same" {
  LD_LIBRARY_PATH=$(simulated_driver) run --separate-stderr measure
  [[ $output == *"device_total 16384 MiB (driver)"* ]]
  [[ $output == *"process_used 0 MiB (driver)"* ]]
  [[ $stderr == "berth: no lease (berth run gives a program one): "* ]]
}

@test "under berth run the lease, its budget and its use are known, and nothing is said" {
  run --separate-stderr berth run -q -m 2G -- measure
  [[ $status == 0 ]]
  [[ $output == *", lease 1, devices 1"* ]]
  [[ $output == *"lease_budget 2048 MiB (ledger)"* ]]
  [[ $output == *"device_used 0 MiB (driver)"* ]]
  [[ -z $stderr ]]
}

@test "without the guard the budget is what berth run has told" {
  run --separate-stderr berth run -q -m 2G --enforce none -- measure
  [[ $output == *"lease_budget 2048 MiB (environment)"* ]]
  [[ $output == *"lease_used unknown"* ]]
}

@test "a resize is seen by a program that runs" {
  berth run -q -m 2G -n grows -- bash -c 'until [[ -e go ]]; do sleep 0.05; done; measure >measured' &
  until berth resize grows -m 3G 2>/dev/null; do sleep 0.1; done
  touch go
  wait $!
  grep -qx "lease_budget 3072 MiB (ledger)" measured
}

@test "what a program uses is told by the guard and by the driver" {
  berth run -q -m 4G -n holds -- bash -c \
    'vram_user --bytes 1GiB --hold forever --quiet & trap "kill $!" EXIT
     until [[ $(measure | sed -n "s/^device_used \([0-9]*\).*/\1/p") -gt 1000 ]]; do sleep 0.05; done
     measure >measured'
  [[ $(sed -n 's/^lease_used \([0-9]*\) MiB (ledger)$/\1/p' measured) -ge 1024 ]]
  grep -q "^process_used 0 MiB" measured
}

@test "a healthy trainer of a thousand steps is not disturbed" {
  # What a sanitizer keeps of freed memory is a leak to others.
  ASAN_OPTIONS+=:quarantine_size_mb=0:thread_local_quarantine_size_kb=0
  run --separate-stderr berth run -q -m 2G -- trainer --steps 1000 --base 512
  [[ $status == 0 ]]
  [[ $output =~ ^VRAM:\ [0-9]+\ MiB\ \|\ Copies:\ 1000\ \|\ Cleanups:\ 0$ ]]
  ! grep -q "leak\|warn\|checkpoint" <<<"$stderr"
}

@test "a trainer cleans up above the threshold, and memory is really released" {
  run --separate-stderr berth run -q -m 2G -- trainer --steps 3 --base 900 --cache 600
  [[ $status == 0 ]]
  grep -q "step 1: cleanup: 600 MiB freed" <<<"$stderr"
}

@test "a program that leaks inside its lease is warned, saved and ends, its neighbour unharmed" {
  berth run -q -m 4G -n neighbour -- vram_user --bytes 2GiB --verify --hold forever >neighbour.out &
  neighbour=$!
  until grep -q "verified\|hold" neighbour.out; do sleep 0.1; done
  run --separate-stderr berth run -q -m 2G -n leaks -- \
    trainer --steps 1000 --base 256 --leak 16 --save saved
  [[ $status == 75 ]]
  grep -q "step [0-9]*: warn: " <<<"$stderr"
  grep -q "step [0-9]*: device memory leaks: it grows by 16 MiB a step" <<<"$stderr"
  grep -q "step [0-9]*: emergency checkpoint: done" <<<"$stderr"
  grep -Eqx "step [1-9][0-9]*" saved
  [[ $(grep -c "emergency checkpoint" <<<"$stderr") == 1 ]]
  berth ps --json | jq -es '.[0].items | length == 1 and .[0].name == "neighbour"'
  kill -0 $neighbour
  berth cancel neighbour
}

@test "a program is asked to save itself through the library, and says that it has" {
  berth run -q -m 2G -n saves --checkpoint library -- \
    trainer --steps 100000 --step-ms 10 --save saved 2>asked >/dev/null &
  until berth show --json saves 2>/dev/null | grep -q '"pid": *[0-9]'; do sleep 0.1; done
  berth checkpoint saves
  grep -Eqx "step [1-9][0-9]*" saved
  grep -q "asked for action 2 (asked)" asked
  berth show --json saves | jq -es '.[0].checkpoint.last.outcome == "saved"'
  berth cancel saves
}

@test "a save that the program says it could not do is none" {
  berth run -q -m 2G -n fails --checkpoint library -- trainer --steps 100000 --step-ms 10 &
  until berth show --json fails 2>/dev/null | grep -q '"pid": *[0-9]'; do sleep 0.1; done
  run berth checkpoint fails
  [[ $status == 1 ]]
  berth show --json fails | jq -es '.[0].checkpoint.last.outcome == "failed"'
  berth cancel fails
}

@test "a program that asks nothing of the library has not saved itself in time" {
  berth run -q -m 2G -n deaf --checkpoint library --grace 1s -- sleep 100 &
  until berth show --json deaf 2>/dev/null | grep -q '"pid": *[0-9]'; do sleep 0.1; done
  run berth checkpoint deaf
  [[ $status == 1 ]]
  berth show --json deaf | jq -es '.[0].checkpoint.last.outcome == "timed_out"'
  berth cancel deaf
}

@test "the library hears of a save after the daemon was killed, and without its berth run" {
  berth run -q -m 2G -n saves --checkpoint library -- \
    trainer --steps 100000 --step-ms 10 --save saved 2>/dev/null >/dev/null &
  until berth checkpoint saves 2>/dev/null; do sleep 0.1; done
  kill -9 "$(berth daemon status --json | jq .pid)"
  kill -9 $!
  rm saved
  until berth checkpoint saves; do sleep 0.1; done
  [[ -s saved ]]
  berth cancel saves
}

@test "a program that is to end is asked to give its lease back" {
  berth run -q -m 2G -n ends -- bash -c 'trap "" TERM
    exec trainer --steps 100000 --step-ms 10' 2>asked >/dev/null &
  job=$!
  until berth show --json ends 2>/dev/null | jq -es '.[0].vram_used_bytes > 0'; do sleep 0.1; done
  berth cancel ends
  wait $job || true
  grep -q "asked for action 32" asked
}

@test "a program without berth run has a lease of its own, and gives it back" {
  berth status >/dev/null
  LD_LIBRARY_PATH=$(simulated_driver) run own_lease
  [[ $status == 0 ]]
  [[ $output == $'lease 1\nbudget 1024 MiB\nbudget 2048 MiB' ]]
  berth ps --all --json | jq -es '.[0].items | length == 1 and .[0].name == "own"'
  berth run -q -m 14G --no-wait -- true
}

@test "a lease of one's own is refused where there is no room, and joined where there is one" {
  berth run -q -x -n all -- sleep 100 &
  until berth show all >/dev/null 2>&1; do sleep 0.1; done
  LD_LIBRARY_PATH=$(simulated_driver) run own_lease
  [[ $status == 75 ]]
  berth cancel all
  run berth run -q -m 3G -- own_lease
  [[ $output == *"budget 3072 MiB"* ]]
  run berth run -q -m 512M -- own_lease
  [[ $status == 75 && $output == *"berth resize"* ]]
}

@test "a lease that was given back is not joined again, nor one of a reservation that is over" {
  berth status >/dev/null
  LD_LIBRARY_PATH=$(simulated_driver) run own_lease twice
  [[ $status == 0 ]]
  [[ $output == $'lease 1\nbudget 1024 MiB\nbudget 2048 MiB\nlease 2\nbudget 1024 MiB\nbudget 2048 MiB' ]]
  eval "$(berth reserve 1h -q -m 3G --export)"
  run own_lease
  [[ ${lines[0]} == "lease 3" && ${lines[1]} == "budget 3072 MiB" ]]
  berth release 3
  run own_lease
  [[ $status == 0 ]]
  [[ ${lines[0]} == "lease 4" && ${lines[1]} == "budget 1024 MiB" ]]
  eventually fails test -e "$BERTH_LEASE_DIR"
  run --separate-stderr measure
  [[ ${lines[0]} == *", lease 0, devices "* ]]
  [[ $stderr == *"berth: lease 3, which the environment names, is over: "* ]]
}
