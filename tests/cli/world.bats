#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The worlds of the other tests here: each is its own, and nothing of it stays.
load lib

@test "a world has its own directories and names" {
  [[ $HOME == "$world"/* && $XDG_STATE_HOME == "$world"/* && $XDG_CONFIG_HOME == "$world"/* ]]
  [[ $BERTH_RUNTIME_DIR == "$world"/* && $BERTH_SIM == 1x16GiB && -n $BERTH_SIM_NAME ]]
  [[ $PWD == "$world/home" ]]
}

@test "what was started in a world ends with it" {
  sleep 1000 3>&- &
  setsid --fork bash -c 'trap "" TERM; while :; do read -rt 1000; done <> <(:)' 3>&-
  mkdir "$world/extra"
  env -i BERTH_RUNTIME_DIR="$world/extra" setsid --fork sleep 1000 3>&-
  eventually started 3
  ended=$world
  world_down
  world=$ended
  [[ -z $(world_processes) && ! -e $world ]]
}
started() { (($(world_processes | wc -l) >= $1)); }

@test "processes of others stay" {
  env -i sleep 1000 3>&- &
  other=$!
  world_down
  kill -0 "$other"
  kill "$other"
}

@test "a program that does not become so in time is a failure" {
  patience=1
  run ! eventually test -e "$world/nothing"
  contains "not within 1 s: test -e $world/nothing"
}
