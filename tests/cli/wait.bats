#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `wait` for leases and what it ends with, and `wait --fit`, the signal that there is room.
load lib

# lease NAME COMMAND...: runs it to its end under a lease of that name.
lease() {
  berth run -q -m 1G -n "$1" -- "${@:2}" || true
  eventually state_is "$1" ended
}
# holder SIZE: a lease of that size, until killed.
holder() {
  berth run -q -m "$1" -n holder -- sleep 1000 3>&- &
  holder=$!
  eventually state_is holder held
}

# listening COUNT: so many listen to the daemon for events; each `run` that holds is one of them.
listening() { (($(berth daemon status --json | jq .counts.event_streams) == $1)); }

@test "wait ends with the code of the command" {
  for code in 0 1 63 64 75 124 255; do
    lease "code-$code" sh -c "exit $code"
    run berth wait "code-$code"
    status_is "$code"
    [[ -z $output ]]
  done
}

@test "wait ends with 128 + n where signal n killed the command" {
  for signal in KILL TERM SEGV; do
    lease "by-$signal" bash -c "ulimit -c 0; kill -$signal \$\$"
    run berth wait "by-$signal"
    status_is $((128 + $(kill -l "$signal")))
  done
}

@test "wait ends with 124 where the limit ended the command, and with 1 where it had no turn" {
  berth run -q -m 1G -n limited --limit 100ms -- sleep 1000 || true
  run berth wait limited
  status_is 124
  holder 10G
  berth run -q -m 10G -n late --wait=50ms -- true || true
  run berth wait late
  status_is 1
}

@test "wait returns when the lease ends, however its command does" {
  berth run -q -m 1G -n job -- sh -c 'until [ -e go ]; do sleep 0.02; done; exit 9' 3>&- &
  eventually state_is job held
  berth wait job 3>&- &
  waiter=$!
  eventually listening 2 # Its own supervisor is the other one.
  kill -0 "$waiter"
  touch go
  wait "$waiter" && ended=0 || ended=$?
  [[ $ended == 9 ]]
}

@test "of several it ends with the first code in order that is not 0" {
  lease good true
  lease bad sh -c 'exit 3'
  lease worse sh -c 'exit 4'
  run berth wait good worse bad
  status_is 4
  run berth wait --all bad worse good
  status_is 3
  run berth wait 1..2
  status_is 3
  run berth wait good
  status_is 0
}

@test "--any ends with the first of them, and prints which" {
  berth reserve 1h -q -m 1G -n long
  lease bad sh -c 'exit 3'
  run --separate-stderr berth wait --any long bad
  status_is 3
  [[ $output == 2 ]]
}

@test "--for waits for another state" {
  holder 10G
  berth run -q -m 8G -n next -- sleep 1000 3>&- &
  eventually state_is next waiting
  run berth wait next --for held --timeout 100ms
  status_is 124
  kill "$holder"
  run berth wait next --for held
  status_is 0
  state_is next held
  run berth wait holder --for releasing
  status_is 0
  # What has ended comes to no other state any more.
  lease over true
  run berth wait over --for suspended
  status_is 1
  contains "ended before it was suspended"
  run berth wait next --for parked
  status_is 64
}

@test "124 when the timeout has passed, and the lease goes on" {
  holder 1G
  run berth wait holder --timeout 100ms
  status_is 124
  contains "not within 100 ms"
  state_is holder held
}

@test "what it cannot wait for" {
  berth daemon start
  run berth wait 99
  status_is 66
  for wrong in "" "1 --fit 1G" "1 --any --all" "1 -g 1" "--fit 0" "--fit -1G" "--fit 1X" \
    "1 --timeout -5s" "--fit 99999999999999999999G"; do
    run berth wait $wrong
    status_is 64
  done
  run berth wait --fit 100G
  status_is 64
  contains "the largest budget that can be granted is 15.5 GiB"
  run berth wait --fit 1G -g 7,
  status_is 69
  contains "there is no GPU 7 here"
}

@test "wait --fit ends with 0 when that size would be granted now" {
  run berth wait --fit 8G
  status_is 0
  contains "8.0 GiB would be granted now (the GPU is simulated)"
  holder 10G
  run berth wait --fit 8G --timeout 100ms
  status_is 124
  berth wait --fit 8G >fits 2>&1 3>&- &
  waiter=$!
  eventually listening 2
  [[ ! -s fits ]]
  kill "$holder"
  wait "$waiter"
  grep "8.0 GiB would be granted now" fits
}

@test "wait --fit holds no place: it is in no queue, and others go first" {
  holder 10G
  berth wait --fit 8G 3>&- &
  waiter=$!
  eventually listening 2
  [[ $(berth queue -q) == "" && $(berth ps -q) == 1 ]]
  # It would be behind a request that came later, and is not told before that has its turn.
  berth run -q -m 14G -n later -- sleep 1000 3>&- &
  eventually state_is later waiting
  kill "$holder"
  eventually state_is later held
  kill -0 "$waiter"
  [[ $(berth queue -q) == "" ]]
  berth cancel later
  wait "$waiter"
  [[ $(berth ps -a -q | wc -l) == 2 ]]
}

@test "--notify tells the terminal, and nobody else" {
  run script -qec "TERM=rxvt berth wait --fit 1G --notify" /dev/null
  status_is 0
  contains $'\033]777;notify;berth;1.0 GiB would be granted now\033\\'
  run script -qec "TERM=xterm VTE_VERSION= TERM_PROGRAM= berth wait --fit 1G --notify" /dev/null
  contains $'\a'
  run berth wait --fit 1G --notify
  [[ $output != *$'\a'* && $output != *$'\033'* ]]
}

@test "a daemon that dies is waited for, and the wait goes on" {
  berth run -q -m 1G -n job -- sh -c 'until [ -e go ]; do sleep 0.02; done; exit 9' 3>&- &
  runner=$!
  eventually state_is job held
  berth wait job 3>&- &
  waiter=$!
  eventually listening 2
  kill -9 "$(berth daemon status --json | jq .pid)"
  eventually state_is job held # Starts the next one.
  touch go
  wait "$runner" || true
  wait "$waiter" && ended=0 || ended=$?
  [[ $ended == 9 ]]
}
