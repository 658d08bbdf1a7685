#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `reserve` and `renew`: a lease for a time, without a command.
load lib

# seconds_left LEASE: until it expires, in whole seconds.
seconds_left() { echo $(($(date -d "$(of "$1" expires)" +%s) - $(date +%s))); }

@test "reserve prints the number of a lease that is held without a command" {
  run --separate-stderr berth reserve 1h -m 4G -n notebook
  status_is 0
  [[ $output == 1 ]]
  contains "granted simulated GPU 0, 4.0 GiB, lease 1, for 1h (berth renew 1 DURATION, berth release 1)"
  state_is 1 held
  [[ $(of 1 pid) == null && $(of 1 name) == notebook ]]
  [[ $(of 1 ttl_ms) == 3600000 && $(of 1 expected_end) == 20*Z ]]
  left=$(seconds_left 1)
  ((left > 3500 && left <= 3600))
}

@test "with --export a shell and what it starts are part of the lease" {
  run bash -c 'eval "$(berth reserve 1h -m 4G --export)"; env; berth run -- sh -c "echo inside \$BERTH_LEASE"'
  status_is 0
  grep -x BERTH_LEASE=1 <<<"$output"
  grep -x BERTH_VRAM_BYTES=4294967296 <<<"$output"
  grep -x CUDA_VISIBLE_DEVICES=0 <<<"$output"
  grep -x "BERTH_LEASE_ID=$(of 1 handle)" <<<"$output"
  contains "joining lease 1 (4.0 GiB on GPU 0)"
  contains "inside 1"
  [[ $(berth ps -a --json | jq '.items | length') == 1 ]]
}

@test "what uses the GPU with its variables is counted to the reservation" {
  eval "$(berth reserve 1h -m 4G --export 2>/dev/null)"
  vram_user --bytes 1GiB --hold 60s >"$world/user" 2>&1 3>&- &
  user=$!
  eventually grep -q holding "$world/user"
  eventually uses_more_than $((1 << 30))
  kill "$user"
}
uses_more_than() { (($(of 1 'vram_used_bytes // 0') > $1)); }

@test "a shell with its variables is held to its budget, and free of it when the lease is over" {
  eval "$(berth reserve 1h -q -m 2G --export)"
  [[ $LD_PRELOAD == */libberth-guard.so && -e $BERTH_LEASE_DIR/limit ]]
  run vram_user --bytes 5GiB
  [[ $status != 0 ]]
  contains "CUDA_ERROR_OUT_OF_MEMORY"
  run vram_user --bytes 1GiB
  status_is 0
  berth resize 1 -m 6G
  run vram_user --bytes 5GiB
  status_is 0
  berth release 1
  eventually fails test -e "$BERTH_LEASE_DIR"
  run vram_user --bytes 8GiB
  status_is 0
  contains "no budget holds this program"
}

@test "LD_PRELOAD of the shell is kept, and another reservation takes its place" {
  export LD_PRELOAD=/nowhere/none.so
  eval "$(berth reserve 1h -q -m 2G --export 2>/dev/null)"
  [[ $LD_PRELOAD == /nowhere/none.so:*/libberth-guard.so ]]
  first=$BERTH_LEASE_DIR
  eval "$(berth reserve 1h -q -m 1G --export 2>/dev/null)"
  [[ $LD_PRELOAD == /nowhere/none.so:*/libberth-guard.so && $LD_PRELOAD != *guard*guard* ]]
  [[ $BERTH_LEASE_DIR != "$first" ]]
}

@test "where a shell cannot be held, that is said, and with enforce = guard nothing is reserved" {
  berth status >/dev/null
  # The dynamic linker takes no library whose path has a blank in it.
  mkdir -p "a b/bin" "a b/lib"
  cp "$(type -P berth)" "a b/bin/"
  cp "$(dirname "$(type -P berth)")/../lib/libberth-guard.so" "a b/lib/"
  run "a b/bin/berth" reserve 1h -m 2G --export
  status_is 0
  contains "berth: not held to its budget: no library can be preloaded from "
  [[ $output != *LD_PRELOAD* ]]
  berth release 1
  echo 'enforce.mode = "guard"' >strict.toml
  BERTH_CONFIG=$PWD/strict.toml run "a b/bin/berth" reserve 1h -m 2G --export
  status_is 69
  contains "not held to its budget: "
  [[ $output != *export* ]]
  eventually state_is 2 ended
}

@test "with enforce = none a shell has the lease's variables and no guard" {
  echo 'enforce.mode = "none"' >trust.toml
  BERTH_CONFIG=$PWD/trust.toml run --separate-stderr berth reserve 1h -m 2G --export
  status_is 0
  [[ $output == *BERTH_LEASE_ID* && $output != *LD_PRELOAD* && $stderr != *"not held"* ]]
}

@test "with --json it prints the lease, and says that the GPU is simulated" {
  run --separate-stderr berth reserve 1h -q -m 4G -t team=a --json
  status_is 0
  [[ -z $stderr ]]
  jq -e '.id == 1 and .state == "held" and .ttl_ms == 3600000 and .pid == null and
    .labels.team == "a" and .simulated' <<<"$output"
  run berth reserve 1h -m 1G --json --export
  status_is 64
}

@test "it waits for its turn as run does, and the same options bound that" {
  berth reserve 1h -q -m 10G
  run berth reserve 1h -m 8G --no-wait
  status_is 75
  contains "GPU 0 can grant 5.5 GiB of the 8.0 GiB asked"
  run berth reserve 1h -m 8G --wait=100ms
  status_is 75
  contains "not granted within 100 ms"
  berth reserve 1h -m 8G -n late >out 2>err 3>&- &
  waiter=$!
  eventually grep -q "waiting for 8.0 GiB on any GPU" err
  berth release 1
  wait "$waiter"
  [[ $(<out) == "$(of late id)" ]]
}

@test "Ctrl-C while it waits leaves the queue" {
  berth reserve 1h -q -m 10G
  # Without job control a shell's background starts with SIGINT ignored.
  python3 - <<'PY'
import signal, subprocess
waiter = subprocess.Popen(['berth', 'reserve', '1h', '-m', '8G'], stderr=subprocess.PIPE)
assert b'waiting' in waiter.stderr.readline()
waiter.send_signal(signal.SIGINT)
assert waiter.wait() == -signal.SIGINT, waiter.returncode
PY
  eventually state_is 2 ended
}

@test "it ends when its time is over, and what waits is granted" {
  berth reserve 2s -q -m 10G
  run --separate-stderr berth run -m 10G -- echo mine
  status_is 0
  [[ $output == mine ]]
  eventually state_is 1 ended
  [[ $(of 1 result) == ok ]]
}

@test "renew gives time from now on, more or less than was left" {
  berth reserve 1m -q -m 1G
  run berth renew 1 2h
  status_is 0
  contains "lease 1 lasts 2h from now, until 20"
  contains "(the GPU is simulated)"
  left=$(seconds_left 1)
  ((left > 7000 && left <= 7200))
  run --separate-stderr berth renew 1 30m --json
  status_is 0
  jq -e '.id == 1 and .state == "held"' <<<"$output"
  left=$(seconds_left 1)
  ((left > 1600 && left <= 1800))
}

@test "what is renewed outlives its first end, and shortened it ends then" {
  # On a busy machine the first two seconds may pass before it is renewed: then again.
  for name in a b c d e; do
    berth reserve 2s -q -m 1G -n "$name"
    berth renew "$name" 1h && break
  done
  run berth wait "$name" --timeout 2100ms
  status_is 124
  berth renew "$name" 1ms
  eventually state_is "$name" ended
}

@test "only a reservation can be renewed" {
  run berth renew 9 1h
  status_is 66
  berth run -q -m 1G -n job -- sleep 1000 3>&- &
  eventually state_is job held
  run berth renew job 1h
  status_is 1
  berth reserve 1h -q -m 1G -n over
  berth release over
  eventually state_is over ended
  run berth renew over 1h
  status_is 1
}

@test "times that make no sense are refused by name" {
  berth reserve 1h -q -m 1G
  for time in 0 0s 0.1ms -5s soon 5x "" 1e3 99999d 18446744073709551616; do
    for verb in "reserve -m 1G" "renew 1"; do
      run berth $verb -- "$time"
      status_is 64
      case $time in
        0 | 0s) contains "DURATION: must be greater than 0" ;;
        *) contains "DURATION: '$time' is" ;;
      esac
    done
  done
  run berth reserve 32d -m 1G
  status_is 64
  contains "DURATION must be between 1 ms and 31d"
  run berth reserve -m 1G
  status_is 64
  contains "missing DURATION"
  run berth reserve 1h -m 1G --limit 1h
  status_is 64
  [[ $(berth ps -a -q) == 1 ]]
}

@test "on a terminal it ends with the shell of that terminal" {
  script -qec 'berth reserve 1h -m 4G; berth ps --fields state --no-header -o tsv >held' /dev/null
  [[ $(<held) == held ]]
  eventually state_is 1 ended
}

@test "a daemon that comes back has not forgotten the reservation, nor its end" {
  berth reserve 1h -q -m 4G -n long
  berth reserve 2s -q -m 4G -n short
  kill -9 "$(berth daemon status --json | jq .pid)"
  eventually state_is long held
  left=$(seconds_left long)
  ((left > 3000 && left <= 3600))
  eventually state_is short ended
}
