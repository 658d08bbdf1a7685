#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --key: what is asked for twice with the same key is one request.
load lib

@test "submit tells the number of the first, and starts nothing twice" {
  run --separate-stderr berth submit -q -m 1G --key once -- sh -c 'echo ran >>"$HOME/runs"'
  status_is 0
  [[ $output == 1 ]]
  run --separate-stderr berth submit -m 1G --key once -- sh -c 'echo ran >>"$HOME/runs"'
  status_is 0
  [[ $output == 1 && $stderr == *"lease 1 was asked for with the key 'once'"* ]]
  berth wait 1
  run --separate-stderr berth submit -q -m 1G --key once -- true
  [[ $output == 1 ]]
  [[ $(wc -l <"$HOME/runs") == 1 ]]
  [[ $(berth submit -q -m 1G --key again -- true) == 2 ]]
}

@test "a set with a key is submitted once, and its members run" {
  run --separate-stderr berth submit -q -m 1G --key sweep --grid x=1,2 -- true
  [[ $output == 1 ]]
  run --separate-stderr berth submit -q -m 1G --key sweep --grid x=1,2 -- true
  [[ $output == 1 ]]
  berth wait 1
  [[ $(of 1 set.ended) == 2 ]]
  run --separate-stderr berth submit -q -m 1G --key sweep --grid x=1,2 -- true
  [[ $output == 1 ]]
}

@test "reserve gives the reservation that is there" {
  first=$(berth reserve 1h -q -m 2G --key box)
  [[ $(berth reserve 1h -q -m 2G --key box) == "$first" ]]
  run --separate-stderr berth reserve 1h -q -m 2G --key box --json
  [[ $(jq -r .id <<<"$output") == "$first" || $(jq -r '.items[0].id' <<<"$output") == "$first" ]]
  eval "$(berth reserve 1h -q -m 2G --key box --export)"
  [[ $BERTH_LEASE == "$first" ]]
  unset BERTH_LEASE_ID
  berth release "$first"
  eventually state_is "$first" ended
  run berth reserve 1h -m 2G --key box
  status_is 66
  contains "lease 1, asked for with this key, has ended: another key asks for another one"
}

@test "run says that it has run, and does not again" {
  berth run -q -m 1G --key r -- true
  run berth run -m 1G --key r -- touch again
  status_is 1
  contains "lease 1 was asked for with the key 'r'"
  [[ ! -e again ]]
}
