#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The exit statuses that `run` and the system bring about; those of other verbs are in
# exit_status.bats, the codes of `wait` in wait.bats.
load lib


@test "69: no GPU and no driver" {
  export BERTH_SIM=1x1GiB,reserved=2GiB
  for words in "run -m 1G -- true" "reserve 1h -m 1G" "fit 1G" "wait --fit 1G"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 69
    contains "no GPU can be used"
    contains "BERTH_SIM=2x16GiB" # The cure.
  done
  # To look is no failure.
  run berth status
  status_is 0
  run berth doctor
  status_is 1
}

@test "69: no daemon, for run too" {
  run berth run --no-autostart -m 1G -- touch started
  status_is 69
  contains "berth daemon start"
  [[ ! -e started ]]
}

@test "71: the system has not what is needed" {
  berth daemon start
  PATH=$(dirname "$(command -v berth)") run "$(command -v berth)" daemon logs
  status_is 71
  contains "cannot run tail"
}

@test "75: busy, and no lease is left of it" {
  berth run -q -m 10G -n holder -- sleep 1000 3>&- &
  eventually state_is holder held
  for words in "run -m 8G --no-wait -- touch started" "run -m 8G --wait=50ms -- touch started" \
    "run -x --no-wait -- touch started" "reserve 1h -m 8G --no-wait" "fit 8G" \
    "run --dry-run -m 8G -- touch started"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 75
    contains "GPU 0"
  done
  [[ ! -e started && $(berth ps -q) == 1 ]]
}

@test "124, 126 and 127 of a limit and of commands that cannot be started" {
  run berth run -q -m 1G --limit 100ms -- sleep 1000
  status_is 124
  mkdir folder
  touch plain
  for command in ./folder ./plain /dev/null; do
    run berth run -q -m 1G -- "$command"
    status_is 126
    contains "cannot start \"$command\""
  done
  for command in ./none none-of-that-name ""; do
    run -127 berth run -q -m 1G -- "$command"
    contains "cannot start \"$command\": there is no such command"
  done
}

@test "125: it was granted and could not be supervised, and the lease is given back" {
  berth daemon start
  # With how few descriptors it gets as far as that depends on the libraries.
  seen=""
  for limit in 4 5 6 7 8 9 10; do
    (
      ulimit -c 0 -n "$limit"
      exec berth run -q -m 15G -- touch "started-$limit"
    ) 3>&- && ended=0 || ended=$?
    seen+=" $ended"
    [[ $ended != 125 || ! -e started-$limit ]]
  done
  echo "statuses:$seen"
  [[ $seen == *" 125"* && $seen == *" 0" ]]
  none_held() { [[ -z $(berth ps -q) ]]; }
  eventually none_held
}

@test "78: a daemon of another world, and names that no world can have" {
  run env BERTH_SIM_NAME=../up berth ps
  status_is 78
  contains BERTH_SIM_NAME
  berth daemon start
  socket=$(berth daemon status --json | jq -r .socket)
  run env BERTH_SOCKET="$socket" BERTH_SIM_NAME=other berth run -m 1G -- touch started
  status_is 78
  contains "set BERTH_SIM and BERTH_SIM_NAME as the daemon has them"
  run env -u BERTH_SIM BERTH_SOCKET="$socket" berth ps
  status_is 78
  [[ ! -e started ]]
}

@test "78: paths that no socket can have, and how it is cured" {
  long=$(printf 'd%.0s' {1..120})
  run env BERTH_RUNTIME_DIR="$world/$long" berth run -m 1G -- true
  status_is 78
  contains "a socket allows 107"
  contains BERTH_RUNTIME_DIR
  run env BERTH_SOCKET="/tmp/$long" berth ps
  status_is 78
  contains BERTH_SOCKET
  run env BERTH_RUNTIME_DIR=relative berth ps
  status_is 78
  contains BERTH_RUNTIME_DIR
}

@test "128 + n in scripts: run dies of the signal that its command died of" {
  run berth run -q -m 1G -- bash -c 'kill -TERM $$'
  status_is 143
  run bash -c 'berth run -q -m 1G -- bash -c "kill -KILL \$\$"; echo "code $?"'
  contains "code 137"
}

@test "71 and a sentence without enough descriptors, never an abort" {
  berth ps
  for count in 4 5 6 7 8 9 10; do
    run bash -c "exec 3>&-; ulimit -n $count; exec berth run -q -m 1G -- true"
    echo "with $count: $status $output"
    [[ $status == 0 || $output == *"Too many open files"* ]]
    ((count > 4)) || status_is 71
    [[ $status == 0 || $status == 71 || $status == 125 ]]
  done
}
