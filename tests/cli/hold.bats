#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth hold`: a request is kept from being granted, and let again.
load lib

setup() {
  world_up
  berth run -q -x -n holder -- sleep 600 3>&- &
  eventually state_is holder held
  for name in first second; do
    berth run -x -n "$name" -- sleep 600 >"$name" 2>&1 3>&- &
    eventually state_is "$name" waiting
  done
}
says() { grep -q -- "$2" "$1"; }

@test "others pass it, it keeps its place, and --off lets it" {
  run berth hold first
  status_is 0
  contains "lease 2 ($(id -un)/first) is on hold (berth hold --off 2)"
  [[ $(of first 'flags | index("on_hold")') != null && $(of first on_hold.by) == "$(id -un)" ]]
  eventually says first "on hold"
  run berth why first
  contains "it is on hold (berth hold --off 2 lets it be granted)"
  run berth queue
  contains "is on hold"
  run berth show first
  contains "on hold"
  berth cancel holder
  eventually state_is second held
  state_is first waiting
  run berth hold --off first
  status_is 0
  contains "waits for its turn again"
  [[ $(of first on_hold) == null ]]
  berth cancel second
  eventually state_is first held
}

@test "a word of other queues ends nothing" {
  berth hold first
  run berth release first
  status_is 1
  contains "lease 2 is on hold: berth hold --off 2 lets it be granted"
  state_is first waiting
}

@test "it survives the daemon" {
  berth hold first
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually berth daemon start
  eventually state_is first waiting
  [[ $(of first on_hold.by) == "$(id -un)" ]]
}

@test "what runs is refused, with what would do" {
  run berth hold holder
  status_is 1
  contains "only a request can be on hold (berth pause 1 makes it leave the GPU)"
  run berth hold 99
  status_is 66
  run berth hold --dry-run first
  status_is 0
  contains "keep 2 ($(id -un)/first) from being granted"
  [[ $(of first on_hold) == null ]]
}

@test "the past says who did it" {
  berth hold first second
  berth hold --off first
  run berth history --events
  [[ $(grep -c ' hold  *[23] (' <<<"$output") == 2 ]]
  [[ $output == *" unhold  2 ($(id -un)/first)"* ]]
}
