#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth submit`: jobs that outlive their terminal, their keeper and the daemon.
load lib

jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
keeper() { cat "$(jobs)/keeper.lock"; }
# kill_keeper: as a machine short of memory would.
kill_keeper() {
  local pid
  pid=$(keeper)
  kill -KILL "$pid"
  eventually process_gone "$pid"
}
process_gone() { ! kill -0 "$1" 2>/dev/null; }
ended_as() { [[ $(of "$1" result) == "$2" ]]; }
log_has() { berth logs "$1" 2>/dev/null | grep -q "$2"; }
# blocker: holds the GPU until the file `go` is there.
blocker() { berth submit -q -m 14G -n blocker -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'; }

@test "a job is a number at once, runs in its turn, and its log and end are kept" {
  run berth submit -m 2G -n first -- bash -c 'echo "from $BERTH_LEASE in $PWD"; echo bad >&2; exit 3'
  status_is 0
  [[ ${lines[-1]} == 1 ]]
  run berth wait 1
  status_is 3
  run berth logs 1
  contains "granted GPU 0"
  contains "from 1 in $PWD"
  contains "bad"
  [[ $(of 1 job) == true && $(of 1 result) == failed && $(of 1 exit_code) == 3 ]]
  eventually jq -e '.result == "failed" and .code == 3' "$(jobs)/1/result"
}

@test "run -d is the same" {
  run berth run -d -q -m 2G -- echo hello
  [[ $output == 1 ]]
  eventually log_has 1 hello
}

@test "a job waits in the queue with all others, is held, and is cancelled before it starts" {
  blocker
  run berth submit -m 8G -n next -- touch ran
  [[ $output == 2 ]] # And no word of what it waits for.
  run berth why next
  contains "waiting for 8.0 GiB"
  contains "1 ($(id -un)/blocker)"
  run berth logs next
  contains "job 2 has not been started yet"
  berth hold next
  touch go
  eventually ended_as 1 ok
  [[ $(of next state) == waiting ]]
  berth cancel next
  eventually jq -e '.result == "cancelled"' "$(jobs)/2/result"
  run berth logs -f next
  contains "job 2 was never started"
  [[ ! -e ran ]]
}

@test "logs -f waits for the start, and ends with the job" {
  blocker
  berth submit -q -m 8G -- bash -c 'echo one; sleep 0.3; echo two'
  timeout 20 berth logs -f 2 >followed 2>said 3>&- &
  eventually grep -q "waiting for it" said
  touch go
  wait $!
  [[ $(grep -c -e '^one$' -e '^two$' followed) == 2 ]]
}

@test "the last lines alone" {
  berth submit -q -m 1G -- seq 100
  eventually log_has 1 '^100$'
  [[ $(berth logs -n 3 1 | tr '\n' ' ') == *"98 99 100"* ]]
  (($(berth logs -n 3 1 | wc -l) <= 3))
  run berth logs --attempt 2 1
  status_is 66
  contains "job 1 has 1 attempts"
}

@test "its terminal may be closed" {
  cat >closed.py <<'P'
import os, pty, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "-c", "berth submit -q -m 2G -- bash -c 'until [[ -e go ]]; do sleep 0.05; done; echo on'; sleep 60"])
said = b""
while b"1" not in said: said += os.read(terminal, 100)
os.close(terminal)
os.waitpid(pid, 0)
P
  python3 closed.py
  eventually state_is 1 held
  touch go
  eventually log_has 1 '^on$'
  eventually ended_as 1 ok
}

@test "the keeper is killed while one runs and one waits: both end, each once" {
  berth submit -q -m 14G -- bash -c 'echo run >>runs; until [[ -e go ]]; do sleep 0.05; done; exit 4'
  eventually test -e runs
  berth submit -q -m 8G -- bash -c 'echo run >>later'
  kill_keeper
  touch go
  eventually ended_as 1 failed # The first verb that asks the daemon starts another keeper.
  eventually ended_as 2 ok
  eventually jq -e '.code == 4' "$(jobs)/1/result"
  eventually jq -e '.code == 0' "$(jobs)/2/result"
  [[ $(wc -l <runs) == 1 && $(wc -l <later) == 1 ]]
}

@test "a keeper that comes back while a job runs adopts it" {
  berth submit -q -m 2G -- bash -c 'echo run >>runs; until [[ -e go ]]; do sleep 0.05; done; exit 4'
  eventually test -e runs
  kill_keeper
  berth ps >/dev/null
  eventually jobs_kept
  touch go
  eventually jq -e '.result == "failed" and .code == 4' "$(jobs)/1/result"
  [[ $(wc -l <runs) == 1 ]]
}
jobs_kept() { kill -0 "$(keeper)" 2>/dev/null; }

@test "two keepers are one" {
  berth submit -q -m 2G -- true
  eventually ended_as 1 ok
  run berth-keeper
  status_is 0
}

@test "the daemon is killed: what waits keeps its place, what runs runs" {
  blocker
  eventually state_is 1 held
  berth submit -q -m 8G -n second -- touch second
  berth submit -q -m 14G -n third -- touch third
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually state_is second waiting
  [[ $(of second queue_position) == 1 && $(of third queue_position) == 2 ]]
  touch go
  eventually test -e second
  eventually test -e third
  [[ $(of 1 result) == ok ]]
}

@test "a job whose number was told is on the disk: a power cut leaves it in the queue" {
  blocker
  eventually state_is 1 held
  berth submit -q -m 8G -n second -- touch second
  # What SQLite had not synced is lost: the next daemon, whoever starts it, goes on from the copy.
  daemon=$(berth daemon status --json | jq .pid)
  kill -STOP "$daemon"
  rm "$XDG_STATE_HOME"/berth/*/sim/*/leases.db{,-wal,-shm}
  kill -KILL "$daemon"
  eventually process_gone "$daemon"
  [[ $(of second id) == 2 && $(of second queue_position) == 1 ]]
  touch go
  eventually test -e second
}

# systemd_says WORD: how the machine is, to what looks for systemctl.
systemd_says() {
  mkdir -p bin
  printf '#!/bin/sh\n[ "$*" = is-system-running ] && echo "%s"\n' "$1" >bin/systemctl
  chmod +x bin/systemctl
}

@test "what its session ends by a shutdown of the machine waits again, if it may be requeued" {
  local ends='trap "exit 0" TERM; touch run.$BERTH_LEASE.${BERTH_RESTART:-0}; sleep 60 & wait'
  systemd_says stopping
  export PATH=$PWD/bin:$PATH
  berth submit -m 2G --requeue -- bash -c "$ends"
  berth submit -q -m 2G --retry 3 -- bash -c "$ends"
  eventually test -e run.1.0
  eventually test -e run.2.0
  kill -TERM "$(of 1 supervisor_pid)" "$(of 2 supervisor_pid)"
  eventually test -e run.1.1
  eventually state_is 2 ended
  [[ ! -e run.2.1 ]]
  run berth logs --attempt 1 1
  contains "the machine is shut down: lease 1 waits again, and is started again after the next start"

  systemd_says running # It was log-out.
  kill -TERM "$(of 1 supervisor_pid)"
  eventually state_is 1 ended
  [[ ! -e run.1.2 ]]
}

@test "where the journal cannot be synced, a job is queued all the same, and its user is warned" {
  blocker
  eventually state_is 1 held
  copy=$(echo "$XDG_STATE_HOME"/berth/*/sim/*/)leases.synced.db
  rm -f "$copy"
  mkdir "$copy" # What cannot be replaced by a file.
  run --separate-stderr berth submit -q -m 8G -n second -- touch second
  status_is 0
  [[ $output == 2 ]]
  [[ $stderr == *"lease 2 is queued, but a power cut could take it: cannot rename "*leases.synced.db* ]]
  touch go
  eventually test -e second
}

@test "what ends while there is no daemon: the next one is told how" {
  local ends='echo $$ >pid.$BERTH_LEASE; until [[ -e go ]]; do sleep 0.02; done; exit 7' daemon
  berth submit -q -m 2G -- bash -c "$ends"
  berth run -q -m 2G -- bash -c "$ends" &
  local run=$! code=0
  eventually test -s pid.1
  eventually test -s pid.2
  daemon=$(berth daemon status --json | jq .pid)
  kill -KILL "$daemon"
  eventually process_gone "$daemon"
  touch go
  eventually process_gone "$(<pid.1)"
  eventually process_gone "$(<pid.2)"
  sleep 0.3 # A daemon that is away for a while.
  eventually state_is 1 ended
  eventually state_is 2 ended
  [[ $(of 1 result) == failed && $(of 1 exit_code) == 7 ]]
  [[ $(of 2 result) == failed && $(of 2 exit_code) == 7 ]]
  wait "$run" || code=$?
  [[ $code == 7 ]]
}

@test "who starts it is killed: the command runs on, and its end is known" {
  berth submit -q -m 2G -- bash -c 'echo run >>runs; until [[ -e go ]]; do sleep 0.05; done'
  eventually test -e runs
  kill -KILL "$(of 1 supervisor_pid)"
  touch go
  eventually state_is 1 ended
  eventually test -e "$(jobs)/1/result"
  [[ $(wc -l <runs) == 1 ]]
}

@test "what is submitted is nobody else's to read, and the environment goes with the last attempt" {
  blocker
  SECRET=hush berth submit -q -m 8G -- bash -c 'echo "[$SECRET]"'
  [[ -z $(find "$(jobs)" -perm /077 ! -type l) ]]
  grep -qz SECRET=hush "$(jobs)/2/environment"
  touch go
  eventually log_has 2 '^\[hush\]$'
  eventually test -e "$(jobs)/2/result"
  [[ ! -e $(jobs)/2/environment ]]
  ! grep -rqs hush "$XDG_STATE_HOME" --exclude='*.log'
}

@test "few variables, if asked to; and the directory and the umask of the submitter" {
  mkdir -p there
  (umask 027; OTHER=1 berth submit -q -m 1G --env-mode clean --cwd there -- bash -c 'echo "[$OTHER] $PWD $(umask) $HOME"')
  eventually log_has 1 "^\[\] $PWD/there 0027 $HOME\$"
}

@test "what cannot be started is refused at once, or fails once, and says why in its log" {
  run -127 berth submit -m 1G -- nosuchcommand
  status_is 127
  run berth submit -m 1G --cwd nowhere -- true
  status_is 64
  contains "--cwd: 'nowhere' is no directory"
  run berth submit -m 1G --status-fd 1 -- true
  status_is 64
  run berth submit -m 99G -- true
  status_is 64
  blocker
  cp "$(type -P true)" gone
  mkdir place
  local program place
  program=$(berth submit -q -m 8G -- ./gone)
  place=$(berth submit -q -m 8G --cwd place -- true)
  rm gone
  rmdir place
  touch go
  eventually jq -e '.result == "failed" and .code == 127' "$(jobs)/$program/result"
  eventually jq -e '.result == "failed" and .code == 126' "$(jobs)/$place/result"
  ended_as "$program" failed
  ended_as "$place" failed
  run berth wait "$place"
  status_is 126
}

@test "files that make no sense are left alone, and others run" {
  blocker
  berth submit -q -m 8G -- touch two
  berth submit -q -m 8G -- touch three
  berth submit -q -m 8G -- touch four
  kill_keeper
  head -c 20 "$(jobs)/2/job" >cut && cat cut >"$(jobs)/2/job"
  sed -i 's/"version":1/"version":9/' "$(jobs)/3/job"
  touch go
  berth status >/dev/null
  eventually test -e four
  eventually grep -q "job 2 is left alone" "$(jobs)/keeper.log"
  grep -q "job 3 is left alone: job 3 is of a newer version" "$(jobs)/keeper.log"
  [[ ! -e two && ! -e three ]]
}

@test "a job after a job" {
  blocker
  berth submit -q -m 1G --after-ok blocker -n good -- touch good
  berth submit -q -m 1G --after-fail blocker -- touch bad
  touch go
  eventually test -e good
  eventually ended_as 3 refused
  [[ ! -e bad ]]
}

@test "the berth run of a job that is told to end while no daemon runs ends within seconds" {
  berth submit -q -m 2G -n told -- sleep 1000
  eventually state_is told held
  eventually jq -e '.pid != null' <(berth show told --json)
  local supervisor
  supervisor=$(of told supervisor_pid)
  kill_keeper
  berth daemon stop
  kill -TERM "$supervisor"
  patience=20 eventually process_gone "$supervisor"
}

@test "a job that is requeued starts again, and remains the same" {
  berth submit -q -m 14G --requeue --grace 2s -- bash -c 'echo run >>runs; until [[ -e go ]]; do sleep 0.05; done'
  eventually test -e runs
  berth requeue 1
  eventually grep -q 1 <(of 1 restarts)
  eventually state_is 1 held
  touch go
  eventually ended_as 1 ok
  [[ $(wc -l <runs) == 2 ]]
}

@test "a keeper that comes back while a job waits to start again leaves that to its attempt" {
  berth submit -q -m 14G --requeue --grace 2s -- bash -c 'echo run >>runs; until [[ -e go ]]; do sleep 0.05; done'
  eventually test -e runs
  berth submit -q -m 14G -p high -- bash -c 'until [[ -e let ]]; do sleep 0.05; done'
  berth requeue 1
  eventually state_is 2 held
  kill_keeper
  berth ps >/dev/null
  eventually jobs_kept
  sleep 0.5
  touch let go
  eventually ended_as 1 ok
  [[ $(wc -l <runs) == 2 && -e $(jobs)/1/1.status && ! -e $(jobs)/1/2.status ]]
}

@test "inside a lease a job is one of its own" {
  berth run -q -m 2G -- berth submit -q -m 3G -- bash -c 'echo "$BERTH_LEASE $BERTH_VRAM_BYTES"'
  eventually log_has 2 "^2 3221225472\$"
}

@test "logs of what is no job" {
  berth run -q -m 1G -n plain -- true
  run berth logs plain
  status_is 66
  contains "lease 1 is no job of yours"
  run berth logs 99
  status_is 66
}

@test "what is over can be cleaned away, and nothing else" {
  berth submit -q -m 1G -- true
  berth submit -q -m 1G -- false
  eventually test -e "$(jobs)/1/result"
  eventually test -e "$(jobs)/2/result"
  berth submit -q -m 1G -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'
  run berth clean --older 1h
  [[ $output == "removed 0 jobs" ]]
  run berth clean --ok --dry-run
  [[ $output == "would remove 1 job" && -e $(jobs)/1 ]]
  run berth clean --ok
  [[ $output == "removed 1 job" && ! -e $(jobs)/1 && -e $(jobs)/2 ]]
  run berth clean 3..9
  [[ $output == "removed 0 jobs" ]]
  run berth clean
  [[ $output == "removed 1 job" && ! -e $(jobs)/2 && -e $(jobs)/3 ]]
  run berth clean train
  status_is 64
  contains "'train' is no number of a job"
  touch go
  eventually ended_as 3 ok
}
