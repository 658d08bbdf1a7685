#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `run --checkpoint` and `berth checkpoint`: only what was confirmed is called a save, and a client that
# asked is told what it was otherwise.
load lib

# start NAME OPTION... -- COMMAND...: a lease in the background. What it says is in $world/NAME.
start() {
  local name=$1
  shift
  berth run -m 1G -n "$name" "$@" >"$world/$name" 2>&1 3>&- &
  runs=$!
  eventually says "$name" ready
}
says() { grep -q -- "$2" "$world/$1"; }
saves_of() { berth show --json "$1" | jq -r ".checkpoint.$2"; }
saves_are() { [[ $(saves_of "$1" "$2") == "$3" ]]; }
alive() { kill -0 "$1"; }

# A program that saves when it is sent SIGUSR1, and goes on. $1: the file that it writes.
saver='trap "echo state >$1.tmp; mv $1.tmp $1" USR1; echo ready; while :; do sleep 0.05; done'
# One that knows nothing of signals.
deaf='echo ready; sleep 1000'

# serve ANSWER: a listener on 127.0.0.1:$port that answers so; `never` takes what it is sent.
serve() {
  cat >"$world/serve.py" <<'PY'
import socket, sys
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
kept = []
while True:
    peer, _ = server.accept()
    print(peer.recv(4096).decode().replace('\r\n', '|'), flush=True)
    if sys.argv[1] == 'never':
        kept.append(peer)
        continue
    peer.sendall(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 %s X\r\nContent-Length: 2\r\n\r\nok'
                 % sys.argv[1].encode())
    peer.close()
PY
  rm -f "$world/served"
  python3 "$world/serve.py" "$1" >"$world/served" 3>&- &
  eventually test -s "$world/served"
  port=$(head -n 1 "$world/served")
}

@test "a signal with a file that confirms it is a save" {
  echo old >state
  start train --checkpoint signal:USR1,file='sta*e' -- bash -c "$saver" - state
  run berth checkpoint train
  status_is 0
  contains "lease 1 ($(id -un)/train) has saved itself (state)"
  [[ $(<state) == state ]]
  saves_are train last.outcome saved
  saves_are train last.reason asked
  [[ $(saves_of train saved) == 20* ]]
  eventually says train "lease 1 has saved itself (state)"
  run berth show train
  contains "by signal, within 1m"
}

@test "a signal alone confirms nothing" {
  start train --checkpoint signal:USR1 -- bash -c "$saver" - state
  run berth checkpoint train
  status_is 1
  contains "has not saved itself: unconfirmed"
  eventually test -e state # It was sent all the same.
  saves_are train saved null
}

@test "a program that does not catch the signal is not sent it, and lives" {
  start train --checkpoint signal:USR1,file=state -- bash -c "$deaf"
  pid=$(berth show --json train | jq .pid)
  run berth checkpoint train
  status_is 65
  contains "not caught, process $pid does not catch SIGUSR1"
  alive "$pid"
}

@test "all processes that catch the signal are sent it, and no other" {
  start train --checkpoint signal:USR1@all,file='state-?' -- bash -c \
    "bash -c '$saver' - state-1 >/dev/null & sleep 1000 & exec bash -c '$saver' - state-2"
  ready() { berth checkpoint train && [[ -e state-1 && -e state-2 ]]; }
  patience=40 eventually ready
  [[ $(berth ps --no-header -o tsv --fields state) == held ]]
}

@test "a file that is not newer confirms nothing: the save times out" {
  echo old >state
  start train --checkpoint signal:USR1,file=state --grace 2s -- bash -c "$saver" - other
  run berth checkpoint train
  status_is 1
  contains "has not saved itself: timed out, not within 2 s"
  saves_are train last.outcome timed_out
}

@test "a command confirms by its exit status, and knows what it is for" {
  start train --checkpoint 'cmd:echo "$BERTH_CHECKPOINT_REASON $BERTH_COMMAND_PID $BERTH_LEASE" >asked' \
    -- bash -c "$deaf"
  run berth checkpoint train
  status_is 0
  [[ $(<asked) == "asked $(berth show --json train | jq .pid) 1" ]]
}

@test "a command that fails is no save" {
  start train --checkpoint 'cmd:exit 3' -- bash -c "$deaf"
  run berth checkpoint train
  status_is 1
  contains "has not saved itself: failed, it ended with 3"
}

@test "a command that hangs is ended with its grace, and the lease goes on" {
  start train --checkpoint 'cmd:sleep 1000 & echo $! >child; wait' --grace 1s -- bash -c "$deaf"
  run berth checkpoint train
  status_is 1
  contains "timed out, not within 1 s"
  gone() { ! alive "$(<child)" 2>/dev/null; }
  eventually gone
  [[ $(berth ps --no-header -o tsv --fields state) == held ]]
}

@test "what a command that saves writes is not the command's output" {
  berth run -q -m 1G -n train --checkpoint 'cmd:echo from the save' -- \
    sh -c 'echo ready; berth checkpoint train >&2; echo end' >out 2>err
  [[ $(<out) == $'ready\nend' ]]
  grep -q 'from the save' err
}

@test "over HTTP 2xx is a save" {
  serve 200
  start train --checkpoint "http://127.0.0.1:$port/save?x=1" -- bash -c "$deaf"
  run berth checkpoint train
  status_is 0
  contains "has saved itself (answered 200)"
  grep -q "^POST /save?x=1 HTTP/1.1|Host: 127.0.0.1:$port|.*Berth-Checkpoint: asked|" "$world/served"
}

@test "over HTTP 500 is none, nor is a promise" {
  serve 500
  start train --checkpoint "http:http://127.0.0.1:$port/save" -- bash -c "$deaf"
  run berth checkpoint train
  status_is 1
  contains "failed, answered 500"
  serve 202
  start later --checkpoint "http://127.0.0.1:$port/save" -- bash -c "$deaf"
  run berth checkpoint later
  status_is 1
  contains "unconfirmed, answered 202"
}

@test "over HTTP silence is none, and nobody listening neither" {
  serve never
  start train --checkpoint "http://127.0.0.1:$port/save" --grace 1s -- bash -c "$deaf"
  run berth checkpoint train
  status_is 1
  contains "timed out, not within 1 s"
  start alone --checkpoint http:unix:/nowhere/app.sock:/save -- bash -c "$deaf"
  run berth checkpoint alone
  status_is 1
  contains "failed, cannot connect to /nowhere/app.sock"
}

@test "the command gets its signals while it saves" {
  start train --checkpoint 'cmd:sleep 1000' -- bash -c 'trap "echo got it; exit 7" TERM; echo ready; while :; do sleep 0.05; done'
  berth checkpoint train --no-wait
  saves_are train asked.number 1
  kill -TERM "$runs"
  status=0
  wait "$runs" || status=$?
  ((status == 7))
  says train "got it"
  saves_are train last.outcome failed
  contains_detail() { [[ $(saves_of train last.detail) == *"the command ended with 7"* ]]; }
  contains_detail
}

@test "a program that saves and ends has saved" {
  start train --checkpoint signal:USR1,file=state -- bash -c \
    'trap "echo state >state; exit 0" USR1; echo ready; while :; do sleep 0.05; done'
  run berth checkpoint train
  status_is 0
  contains "has saved itself (state)"
}

@test "a program that is killed while it saves has not" {
  start train --checkpoint signal:USR1,file=state -- bash -c \
    'trap "echo half >state; kill -KILL \$\$" USR1; echo ready; while :; do sleep 0.05; done'
  run berth checkpoint train
  status_is 1
  contains "the command was killed by SIGKILL"
}

@test "a client that asks while it saves waits for that save" {
  start train --checkpoint 'cmd:echo once >>asked; while [ ! -e go ]; do sleep 0.05; done' -- \
    bash -c "$deaf"
  berth checkpoint train >first 2>&1 3>&- &
  first=$!
  eventually test -e asked
  berth checkpoint train --no-wait
  run berth checkpoint train --wait=100ms
  status_is 124
  touch go
  wait "$first"
  eventually saves_are train last.outcome saved
  [[ $(wc -l <asked) == 1 ]]
}

@test "it is asked by itself, each so often and before the limit" {
  start train --checkpoint 'cmd:echo $BERTH_CHECKPOINT_REASON >>asked' --checkpoint-every 1s -- \
    bash -c "$deaf"
  twice() { [[ -e asked && $(grep -c periodic asked) -ge 2 ]]; }
  eventually twice
  berth cancel train
  run berth run -m 1G --limit 6s --checkpoint 'cmd:echo $BERTH_CHECKPOINT_REASON >>limit' -- \
    sleep 1000
  status_is 124
  [[ $(<limit) == limit ]]
}

@test "a lease that named no way is told so" {
  start train -- bash -c "$deaf"
  run berth checkpoint train
  status_is 1
  contains "lease 1 was started without --checkpoint"
  run berth checkpoint 99
  status_is 66
}

@test "where its berth run is gone nobody is there to ask" {
  start train --checkpoint 'cmd:true' -- bash -c "$deaf"
  kill -KILL "$runs"
  run berth checkpoint train
  status_is 1
  contains "has not saved itself: gone, nobody is there to ask"
}

@test "a save goes on while the daemon is started again" {
  start train --checkpoint 'cmd:echo once >>asked; while [ ! -e go ]; do sleep 0.05; done' -- \
    bash -c "$deaf"
  berth checkpoint train --no-wait
  eventually test -e asked
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually berth ps
  saves_are train asked.number 1
  touch go
  patience=30 eventually saves_are train last.outcome saved
  [[ $(wc -l <asked) == 1 ]]
}

@test "what makes no sense is refused with 64" {
  for way in library: https://h/save signal:KILL signal:USR9 cmd: nothing; do
    run berth run -m 1G --checkpoint "$way" -- true
    status_is 64
  done
  run berth run -m 1G --checkpoint-every 10m -- true
  status_is 64
  contains "needs --checkpoint"
  run berth run -m 1G --grace 10s -- true
  status_is 64
}

@test "inside a lease the outer one is asked" {
  run berth run -m 1G -- berth run --checkpoint signal:USR1 -- true
  status_is 0
  contains "inside a lease nobody asks a command to save itself"
}
