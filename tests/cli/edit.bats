#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth edit`: a request asks for something else while it waits.
load lib

setup() {
  world_up
  berth submit -q -x -n holder -- bash -c 'until [[ -e go ]]; do sleep 0.02; done'
  eventually state_is holder held
}
jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
log_has() { berth logs "$1" 2>/dev/null | grep -q "$2"; }

@test "it keeps its number and its age, and asks for what was said" {
  berth submit -q -x -n first -- true
  berth submit -q -x -n second -- true
  run berth edit second -m 6G -p high -n third --eta 10m --limit 20m
  status_is 0
  contains "lease 3 ($(id -un)/third) asks for 6.0 GiB on any GPU now"
  [[ $(of 3 queue_position) == 1 && $(of 2 queue_position) == 2 ]]
  [[ $(of third priority) == high && $(of third vram_requested_bytes) == $((6 << 30)) ]]
  [[ $(of third eta_ms) == 600000 && $(of third limit_ms) == 1200000 ]]
  run berth history --events
  contains "edit"
  contains "name third, priority high, 6.0 GiB, eta 10m, limit 20m"
  touch go
  eventually state_is first ended
}

@test "a job runs the command that it was given last, with the options of before" {
  berth submit -q -m 2G -n job -t kind=first -- bash -c 'echo first'
  run berth edit job -- bash -c 'echo "second on $BERTH_LEASE"'
  status_is 0
  [[ $(of job command) == "bash -c 'echo \"second on \$BERTH_LEASE\"'" ]]
  touch go
  eventually log_has job '^second on 2$'
  fails log_has job first
  [[ $(of job labels.kind) == first ]]
}

@test "another command survives the keeper and the daemon" {
  berth submit -q -m 2G -n job bash -c 'echo first'
  berth edit job -- bash -c 'echo second'
  kill -KILL "$(cat "$(jobs)/keeper.lock")" "$(berth daemon status --json | jq .pid)"
  berth ps >/dev/null
  touch go
  eventually log_has job '^second$'
}

@test "it waits for a time, and not any more" {
  berth submit -q -m 2G -n job -- true
  berth edit job --at 2h
  touch go
  eventually state_is holder ended
  run berth why job
  contains "it starts at"
  berth edit job --at now
  eventually state_is job ended
}

@test "what cannot be is refused, and nothing of it is changed" {
  berth submit -q -m 2G -n job -- bash -c 'echo first'
  run berth edit job -m 60G
  status_is 64
  contains "fits on no GPU here"
  run berth edit job -m 60G -- bash -c 'echo second'
  status_is 64
  run berth edit job -- no-such-program
  status_is 1
  contains "there is no program 'no-such-program'"
  run berth edit job -- ./no-such-program
  contains "there is no program './no-such-program' in $PWD"
  run berth edit job
  status_is 64
  contains "say what is to be changed"
  run berth edit job -x -m 2G
  status_is 64
  run berth edit holder -m 2G
  status_is 1
  contains "only a request can be edited (berth resize changes its memory)"
  run berth edit holder -- true
  status_is 1
  contains "its berth run is there, and starts the same command again"
  touch go
  eventually log_has job '^first$'
}

@test "of a set, its members and what waits at a terminal the command stays" {
  berth submit -q -m 2G -n set --grid lr=1,2 -- echo '{lr}'
  run berth edit set -p high
  status_is 1
  contains "is a set, whose members ask for what was submitted"
  eventually berth show 2.1
  run berth edit 2.1 -- true
  status_is 1
  contains "whose command is that of all"
  berth run -q -m 2G -n typed -- true &
  eventually state_is typed waiting
  run berth edit typed -- false
  status_is 1
  contains "it is no job of yours"
  run berth edit typed -p urgent
  status_is 0
  touch go
  wait $!
}

@test "--dry-run changes nothing" {
  berth submit -q -m 2G -n job -- bash -c 'echo first'
  run berth edit --dry-run job -p high -- bash -c 'echo second'
  status_is 0
  contains "would edit 2 ($(id -un)/job)"
  [[ $(of job priority) == normal ]]
  touch go
  eventually log_has job '^first$'
}
