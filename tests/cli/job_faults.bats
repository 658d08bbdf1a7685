#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Jobs where something is wrong around them: the disk, the owner of a file, the end of their keeper.
load lib

jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
keeper() { cat "$(jobs)/keeper.lock"; }
ended_as() { [[ $(of "$1" result) == "$2" ]]; }
process_gone() { ! kill -0 "$1" 2>/dev/null; }

@test "a log on a full disk is the command's to notice: its job ends, and others run when there is room" {
  unshare -rm true || skip "no file system can be mounted here"
  berth submit -q -m 1G -n first -- true
  eventually test -e "$(jobs)/1/result"
  kill "$(keeper)"
  eventually process_gone "$(keeper)"
  export -f jobs keeper ended_as process_gone eventually of status_is contains jq
  dir=$(jobs)
  export dir
  unshare -rm bash -euo pipefail <<'S'
mount -t tmpfs -o size=256k,mode=0700 none "$dir"
# More than there is room for, and it goes on: what is full is not the daemon's disk.
berth submit -q -m 1G -n loud -- bash -c 'head -c 1M /dev/zero; echo "$?" >ended; exit 5'
eventually test -e ended
[[ $(<ended) == 1 ]]
eventually ended_as loud failed
kill -0 "$(cat "$dir/keeper.lock")"
run=0
berth submit -q -m 1G -- true 2>said || run=$?
[[ $run != 0 ]]
grep -q "No space left on device" said
: >"$dir/2/1.log"
eventually test -e "$dir/2/result"
jq -e '.result == "failed" and .code == 5' "$dir/2/result"
berth submit -q -m 1G -n quiet -- touch quiet
eventually ended_as quiet ok
kill "$(cat "$dir/keeper.lock")"
S
  [[ -e quiet ]]
}

@test "files of another user are left alone and named, and other jobs run" {
  [[ $(id -u) == 0 ]] || skip "only root can give a file away"
  berth submit -q -m 14G -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'
  berth submit -q -m 8G -- touch two
  berth submit -q -m 8G -- touch three
  eventually state_is 1 held
  pid=$(keeper)
  kill -KILL "$pid"
  eventually process_gone "$pid"
  chown 12345 "$(jobs)/2/job"
  touch go
  berth ps >/dev/null
  eventually test -e three
  eventually grep -q "job 2 is left alone: .*/jobs/2/job belongs to user 12345: it must be that of user 0" "$(jobs)/keeper.log"
  [[ ! -e two ]]
}

# ends_with_a_core PROGRAM...: told to by SIGABRT once it runs.
ends_with_a_core() {
  python3 - "$@" <<'P'
import os, resource, signal, sys, time
pid = os.fork()
if pid == 0:
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    os.execvp(sys.argv[1], sys.argv[1:])
time.sleep(0.5)
os.kill(pid, signal.SIGABRT)
_, status = os.waitpid(pid, 0)
assert os.WIFSIGNALED(status), status
sys.exit(0 if os.WCOREDUMP(status) else 1)
P
}

@test "the keeper leaves no core dump, which would have the environment of its user's jobs" {
  ulimit -c unlimited 2>/dev/null || skip "no core dump is allowed here"
  ends_with_a_core sleep 60 || skip "no process leaves a core dump here"
  fails ends_with_a_core berth-keeper
}

@test "the command of a job may leave one: that is its own" {
  ! berth_is_sanitized || skip "the run-time of a sanitizer takes it from all that it starts"
  ulimit -c unlimited 2>/dev/null || skip "no core dump is allowed here"
  berth submit -q -m 1G -- bash -c 'ulimit -c >limit'
  eventually ended_as 1 ok
  [[ $(head -1 limit) == unlimited ]]
}

@test "without the program that would start it a job is not taken" {
  berth status >/dev/null
  cp "$(type -P berth)" alone
  run ./alone submit -q -m 1G -- true
  status_is 69
  contains "there is no program $PWD/berth-keeper"
  # Its request goes with its connection.
  nothing_is_left() { [[ $(berth ps --json | jq '.items | length') == 0 ]]; }
  eventually nothing_is_left
}
