#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `run --requeue` and `berth requeue`: a command is stopped, waits in the queue and is started again
# by the same `berth run`, whatever happens to anybody meanwhile.
load lib

# start NAME OPTION... -- COMMAND...: a lease of 10 GiB in the background. What it says is in $NAME.
start() {
  local name=$1
  shift
  berth run -m 10G -n "$name" "$@" >"$name" 2>&1 3>&- &
  runs=$!
  eventually says "$name" ready
}
says() { grep -q -- "$2" "$1"; }
daemon() { berth daemon status --json | jq .pid; }
gone() { ! kill -0 "$1" 2>/dev/null; }
times_started() { [[ $(wc -l <starts) == "$1" ]]; }

# It writes down each start, and does not end by itself before there is a file `end`.
command='echo "start ${BERTH_RESTART-none} lease $BERTH_LEASE" >>starts; echo ready
  while [ ! -e end ]; do sleep 0.05; done; exit 3'

@test "it is stopped, others go first, and the same run starts it again" {
  start train --requeue -- bash -c "$command"
  pid=$(of train pid)
  berth run -m 10G -n other -- sh -c 'echo ready; sleep 1000' >other 2>&1 3>&- &
  eventually state_is other waiting
  run berth requeue train
  status_is 0
  contains "lease 1 ($(id -un)/train) waits in the queue again"
  gone "$pid"
  eventually state_is other held
  state_is train waiting
  [[ $(of train restarts) == 1 && $(of train pid) == null ]]
  berth cancel other
  eventually state_is train held
  eventually times_started 2
  [[ $(of train restarts) == 1 && $(of train id) == 1 ]]
  touch end
  status=0
  wait "$runs" || status=$?
  ((status == 3)) # Of the last run.
  [[ $(<starts) == $'start none lease 1\nstart 1 lease 1' ]]
  says train "lease 1 is stopped by you, to wait in the queue and be started again"
  says train "restart 1"
  [[ $(berth ps -a --json | jq '.items[] | select(.id == 1).restarts') == 1 ]]
  [[ $(of train result) == failed && $(of train exit_code) == 3 && $(of train restarts) == 1 ]]
}

@test "first it saves itself, and is told what for" {
  start train --requeue --checkpoint 'cmd:echo "$BERTH_CHECKPOINT_REASON" >>saves' -- bash -c "$command"
  run berth requeue train
  status_is 0
  eventually times_started 2
  [[ $(<saves) == requeue ]]
  [[ $(of train checkpoint.last.reason) == requeue ]]
  touch end
}

@test "over HTTP the save is told what for, too" {
  cat >"$world/serve.py" <<'PY'
import socket
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
peer, _ = server.accept()
print(peer.recv(4096).decode().replace('\r\n', '|'), flush=True)
peer.sendall(b'HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n')
PY
  python3 "$world/serve.py" >served 3>&- &
  eventually test -s served
  start train --requeue --checkpoint "http://127.0.0.1:$(head -n 1 served)/save" -- bash -c "$command"
  berth requeue train
  grep -q "Berth-Checkpoint: requeue|" served
}

@test "what has not saved itself is not stopped, unless that is said" {
  start train --requeue --checkpoint 'cmd:exit 5' -- bash -c "$command"
  pid=$(of train pid)
  run berth requeue train
  status_is 1
  contains "lease 1 is not requeued: it has not saved itself (failed, it ended with 5)"
  contains "berth requeue --unsaved 1"
  kill -0 "$pid"
  state_is train held
  [[ $(of train requeue) == null && $(of train restarts) == 0 ]]
  eventually says train "lease 1 is not requeued"
  run berth requeue --unsaved train
  status_is 0
  gone "$pid"
  eventually times_started 2
}

@test "a signal alone confirms nothing, and stops nothing" {
  start train --requeue --checkpoint signal:USR1 -- bash -c "trap : USR1; $command"
  pid=$(of train pid)
  run berth requeue train
  status_is 1
  contains "(unconfirmed"
  kill -0 "$pid"
}

@test "its whole tree is stopped, the deaf after the grace" {
  start train --requeue --grace 1s -- bash -c '
    echo "$BERTH_RESTART" >>starts
    bash -c "trap \"\" TERM; echo \$\$ >>deaf; sleep 1000 & wait; sleep 1000" &
    setsid bash -c "echo \$\$ >>apart; exec sleep 1000" &
    trap "echo asked >>terms; exit 0" TERM
    while [ ! -s deaf ] || [ ! -s apart ]; do sleep 0.02; done
    echo ready; while :; do sleep 0.05; done'
  local deaf=$(<deaf) apart=$(<apart)
  run berth requeue train
  status_is 0
  gone "$deaf"
  gone "$apart"
  [[ $(<terms) == asked ]]
  eventually times_started 2
}

@test "what still holds its memory is waited for" {
  berth run -m 10G -n train --requeue -- sh -c 'echo start >>starts; exec vram_user --bytes 8GiB --hold 60s' \
    >train 2>&1 3>&- &
  eventually grep -q holding train
  berth run -m 10G -n other -- true >other 2>&1 3>&- &
  local other=$!
  eventually state_is other waiting
  berth-simctl teardown 700ms
  run berth requeue train
  status_is 0
  wait "$other"
  eventually times_started 2
}

@test "what was not started for it is refused, and told the cure" {
  start train -- bash -c "$command"
  run berth requeue train
  status_is 1
  contains "lease 1 was started without --requeue"
  contains "berth pause"
  run berth requeue 99
  status_is 66
  run berth run -m 1G --grace 5s -- true
  status_is 64
  contains "--checkpoint or --requeue"
}

@test "what waits already, is paused or has ended is refused" {
  start train --requeue -- bash -c "$command"
  berth run -m 10G -n second --requeue -- true 2>second 3>&- &
  eventually state_is second waiting
  run berth requeue second
  status_is 1
  contains "waits in the queue already"
  touch end
  eventually state_is train ended
  run berth requeue train
  status_is 1
  contains "has ended already"
}

@test "only what would be done is said with --dry-run" {
  start train --requeue --checkpoint cmd:true -- bash -c "$command"
  run berth requeue --dry-run train
  status_is 0
  contains "would stop 1 ($(id -un)/train), to wait in the queue and be started again, once it has saved itself by cmd"
  state_is train held
}

@test "a command that ends while it saves has ended" {
  start train --requeue --checkpoint 'cmd:touch asked; while [ ! -e over ]; do sleep 0.05; done' -- \
    bash -c "$command"
  berth requeue train >asker 2>&1 3>&- &
  local asker=$!
  eventually test -e asked
  touch end
  status=0
  wait "$runs" || status=$?
  ((status == 3))
  status=0
  wait "$asker" || status=$?
  ((status == 1))
  says asker "its command has ended by itself"
  [[ $(of train restarts) == 0 && $(of train result) == failed ]]
}

@test "it is requeued again and again" {
  start train --requeue -- bash -c "$command"
  for n in 1 2 3; do
    berth requeue train
    eventually times_started $((n + 1))
    eventually state_is train held
  done
  touch end
  wait "$runs" || true
  [[ $(tail -n 1 starts) == "start 3 lease 1" ]]
}

@test "stdin and the status descriptor stay what they were" {
  mkfifo in
  berth run -m 10G -n train --requeue --status-fd=7 7>status -- bash -c \
    'read -r line; echo "$line" >>lines; while [ ! -e end ]; do sleep 0.05; done' <in 2>train 3>&- &
  runs=$!
  exec 8>in
  echo one >&8
  eventually test -s lines
  berth requeue train
  echo two >&8
  both() { [[ $(<lines) == $'one\ntwo' ]]; }
  eventually both
  touch end
  wait "$runs"
  exec 8>&-
  [[ $(jq -r .phase status | tr '\n' ' ') =~ ^"queue run queue run done "$ ]]
}

@test "to be told to end while it waits again leaves the queue" {
  start train --requeue -- bash -c "$command"
  berth run -m 15G -n other -- sleep 1000 2>/dev/null 3>&- &
  eventually state_is other waiting
  berth requeue train
  kill -TERM "$runs"
  status=0
  wait "$runs" || status=$?
  ((status == 143))
  eventually state_is train ended
  [[ $(of train result) == cancelled ]]
  times_started 1
}

@test "to be told to end while it is stopped ends it" {
  start train --requeue --grace 2s -- bash -c "trap 'touch told' TERM; echo x >>starts; echo ready
    while :; do sleep 0.05; done"
  berth requeue train >asker 2>&1 3>&- &
  local asker=$!
  eventually test -e told
  kill -TERM "$runs"
  status=0
  wait "$runs" || status=$?
  ((status == 143))
  status=0
  wait "$asker" || status=$?
  ((status == 1))
  eventually state_is train ended
  [[ $(of train result) == cancelled ]]
  times_started 1
}

@test "a daemon that is killed at any point of it goes on from there" {
  start train --requeue --checkpoint 'cmd:touch asked; while [ ! -e saved ]; do sleep 0.02; done' -- \
    bash -c "trap 'touch told; while [ ! -e may_end ]; do sleep 0.02; done; exit 0' TERM; $command"
  # While it saves itself.
  berth requeue train >asker 2>&1 3>&- &
  eventually test -e asked
  kill -KILL "$(daemon)"
  eventually berth ps
  [[ $(of train requeue) == saving ]]
  touch saved
  # While it is stopped.
  patience=30 eventually test -e told
  kill -KILL "$(daemon)"
  eventually berth ps
  [[ $(of train requeue) == stopping ]]
  # While it waits.
  berth run -m 15G -n other -- sleep 1000 2>other 3>&- &
  eventually state_is other waiting
  touch may_end
  eventually state_is other held
  state_is train waiting
  [[ $(of train restarts) == 1 ]]
  kill -KILL "$(daemon)"
  eventually berth ps
  state_is train waiting
  berth cancel other
  patience=30 eventually times_started 2
  [[ $(of train restarts) == 1 ]]
}

@test "a daemon ends at once in each state of it" {
  start train --requeue --checkpoint 'cmd:touch asked; while [ ! -e saved ]; do sleep 0.02; done' -- \
    bash -c "trap 'touch told; while [ ! -e may_end ]; do sleep 0.02; done; exit 0' TERM; $command"
  berth requeue train >asker 2>&1 3>&- &
  local asker=$!
  eventually test -e asked
  stops_at_once # While it saves itself.
  fails wait "$asker"
  touch saved
  patience=30 eventually test -e told
  berth requeue train >asker 2>&1 3>&- &
  stops_at_once # While it is stopped, and a client waits for that.
  berth run -m 15G -n other -- sleep 1000 2>other 3>&- &
  eventually state_is other waiting
  touch may_end
  patience=30 eventually state_is train waiting
  stops_at_once # While it waits.
  eventually berth ps
}
# stops_at_once: the daemon ends by SIGTERM, and another one is started.
stops_at_once() {
  local pid=$(daemon)
  kill -TERM "$pid"
  timeout 5 tail -s 0.02 --pid="$pid" -f /dev/null
  eventually berth ps >/dev/null
}

@test "a lease whose berth run is killed before it is asked is not stopped" {
  start train --requeue -- bash -c "$command"
  pid=$(of train pid)
  kill -KILL "$runs"
  run berth requeue train
  status_is 1
  contains "its berth run is gone, and nobody else could start its command again"
  kill -0 "$pid"
  state_is train held
}

@test "a lease whose berth run is killed while it stops it ends, and says so" {
  start train --requeue --grace 60s -- bash -c "trap 'touch told' TERM; echo ready; while :; do sleep 0.05; done"
  berth requeue train >asker 2>&1 3>&- &
  local asker=$!
  eventually test -e told
  kill -KILL "$runs"
  status=0
  wait "$asker" || status=$?
  ((status == 1))
  says asker "nobody else could start its command again"
  patience=20 eventually state_is train ended
  [[ $(of train result) == cancelled ]]
}

@test "a lease whose berth run is killed while it waits ends" {
  start train --requeue -- bash -c "$command"
  berth run -m 15G -n other -- sleep 1000 2>/dev/null 3>&- &
  eventually state_is other waiting
  berth requeue train
  kill -KILL "$runs"
  eventually state_is train ended
  [[ $(of train result) == cancelled ]]
}

@test "a berth run that is stopped is asked in vain, and nothing is stopped" {
  start train --requeue -- bash -c "$command"
  kill -STOP "$runs"
  run berth requeue train
  kill -CONT "$runs"
  status_is 1
  contains "its berth run does not answer"
  state_is train held
  times_started 1
}

@test "the events tell of each step" {
  start train --requeue -- bash -c "$command"
  curl -sN --unix-socket "$(berth daemon status --json | jq -r .socket)" \
    http://berth/v1/events >events 2>/dev/null 3>&- &
  eventually test -s events
  berth requeue train
  eventually times_started 2
  told() { [[ $(sed -n 's/^event: //p' events | tr '\n' ' ') == *"requeue requeuing requeued "* ]]; }
  eventually told
}

@test "inside a lease the outer one is requeued" {
  run berth run -m 1G -- berth run --requeue -- true
  status_is 0
  contains "inside a lease a command is not requeued by itself"
}
