#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `--retry` and `--on-oom`: commands that fail and are started again.
load lib

jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
ended_as() { [[ $(of "$1" result) == "$2" ]]; }
waits_for_retry() { [[ $(of "$1" retries.next.not_before) != null ]]; }
process_gone() { ! kill -0 "$1" 2>/dev/null; }
# third_time: notes that it ran in `runs`, and ends with 3 twice.
third_time='echo run >>runs; echo "attempt $(wc -l <runs), ${BERTH_RESTART:-first}"; (($(wc -l <runs) > 2)) || exit 3'

@test "a job that fails is started again: one number, one log an attempt, and its environment until the last" {
  SECRET=hush berth submit -m 2G --retry 3 --retry-after 100ms -n train -- bash -c "$third_time; [[ \$SECRET == hush ]]"
  berth wait train
  [[ $(wc -l <runs) == 3 && $(of 1 restarts) == 2 && $(of 1 result) == ok ]]
  run berth logs --attempt 1 1
  contains "attempt 1, first"
  contains "lease 1: its command ended with exit status 3; retry 1 of 3 in "
  run berth logs --attempt 2 1
  contains "attempt 2, 1"
  contains "retry 2 of 3 in "
  run berth logs 1
  contains "attempt 3, 2"
  eventually test -e "$(jobs)/1/result"
  [[ ! -e $(jobs)/1/environment && -e $(jobs)/1/3.status && ! -e $(jobs)/1/4.status ]]
  [[ $(readlink "$(jobs)/1/latest") == 3.log ]]
  run berth logs -f 1
  status_is 0
}

@test "the last failure is the end" {
  berth submit -q -m 2G --retry 1 --retry-after 50ms -- bash -c 'echo run >>runs; exit 4'
  run berth wait 1
  status_is 4
  [[ $(wc -l <runs) == 2 && $(of 1 retries.left) == 0 && $(of 1 result) == failed ]]
  eventually jq -e '.result == "failed" and .code == 4' "$(jobs)/1/result"
}

@test "while it waits for its next attempt it has no memory, and says when that is" {
  berth submit -q -m 14G --retry 2 --retry-after 1h -n train -- bash -c 'exit 3'
  eventually waits_for_retry 1
  run berth why train
  contains "Not now: its command ended with exit status 3 and is started again, retry 1 of 2, at "
  run berth ps
  contains "waiting, retry ~"
  run berth show train
  contains "1 of 2 left"
  contains "--retry=2 --retry-after=1h"
  [[ $(of train retries.left) == 1 && $(of train retries.failed.code) == 3 ]]
  berth run -q -m 14G -- true
  berth cancel train
  eventually jq -e '.result == "cancelled"' "$(jobs)/1/result"
  [[ ! -e $(jobs)/1/environment ]]
}

@test "who does not want to wait for the next attempt starts it now" {
  berth submit -q -m 2G --retry 1 --retry-after 1h -- bash -c 'echo run >>runs; [[ $(wc -l <runs) == 2 ]]'
  eventually waits_for_retry 1
  berth edit 1 --at now
  run berth wait 1
  status_is 0
  [[ $(wc -l <runs) == 2 && $(of 1 restarts) == 1 ]]
}

@test "what starts after it waits for its last attempt" {
  berth submit -q -m 2G --retry 1 --retry-after 1h -- bash -c 'echo run >>runs; [[ -e good ]]'
  berth submit -q -m 1G --after-fail 1 -n bad -- touch failed
  berth submit -q -m 1G --after-ok 1 -n good -- touch succeeded
  eventually waits_for_retry 1
  run berth why bad
  contains "it starts when 1 has failed; 1 has failed and is started again: how its last attempt ends is what counts"
  [[ $(berth why bad --json | jq -c .retried) == "[1]" ]]
  touch good
  berth edit 1 --at now
  eventually ended_as bad refused
  eventually ended_as good ok
  [[ ! -e failed && -e succeeded && $(wc -l <runs) == 2 ]]
}

@test "what is cancelled, over its limit or cannot be started is not started again" {
  berth submit -q -m 2G --retry 3 --retry-after 50ms -- bash -c 'echo run >>one; sleep 60'
  eventually test -e one
  berth cancel 1
  eventually ended_as 1 cancelled
  berth submit -q -m 2G --retry 3 --retry-after 50ms --limit 1s -- bash -c 'echo run >>two; sleep 60'
  eventually ended_as 2 limit
  berth submit -q -m 14G -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'
  cp "$(type -P true)" gone
  mkdir place
  berth submit -q -m 8G --retry 3 --retry-after 50ms -- ./gone
  berth submit -q -m 8G --retry 3 --retry-after 50ms --cwd place -- true
  rm -r gone place
  touch go
  eventually jq -e '.result == "failed" and .code == 127' "$(jobs)/4/result"
  eventually jq -e '.result == "failed" and .code == 126' "$(jobs)/5/result"
  sleep 0.3
  [[ $(wc -l <one) == 1 && $(wc -l <two) == 1 && ! -e $(jobs)/4/2.status && ! -e $(jobs)/5/2.status ]]
}

@test "the keeper and the daemon are killed while it waits: it is started again, once" {
  berth submit -q -m 2G --retry 1 --retry-after 2s -- bash -c 'echo run >>runs; exit 3'
  eventually waits_for_retry 1
  pid=$(cat "$(jobs)/keeper.lock")
  kill -KILL "$pid"
  eventually process_gone "$pid"
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually ended_as 1 failed
  eventually test -e "$(jobs)/1/result"
  [[ $(wc -l <runs) == 2 && $(of 1 restarts) == 1 ]]
}

@test "berth run waits at its terminal, and ends as the last attempt does" {
  run berth run -m 2G --retry 3 --retry-after 50ms -- bash -c "$third_time"
  status_is 0
  contains "attempt 3, 2"
  contains "lease 1: its command ended with exit status 3; retry 2 of 3 in "
  contains "restart 2"
  run berth run -q -m 2G --retry 1 --retry-after 50ms -- bash -c 'echo "$BERTH_LEASE"; exit 7'
  status_is 7
  [[ $output == $'2\n2' ]]
  run berth run -q -m 2G --retry 1 --retry-after 50ms -- bash -c 'kill -SEGV $$'
  status_is 139
  [[ $(of 3 restarts) == 1 && $(of 3 result) == killed ]]
}

@test "berth run that is told to end ends, and its command is not started again" {
  berth run -q -m 2G --retry 3 --retry-after 50ms -- bash -c 'echo run >>runs; exec sleep 60' 3>&- &
  eventually grep -q run runs # The file is there before the line.
  kill -TERM $!
  wait $! || code=$?
  [[ $code == 143 ]]
  eventually state_is 1 ended
  sleep 0.2
  [[ $(wc -l <runs) == 1 && $(of 1 restarts) == 0 ]]
}

@test "what is typed at the terminal is no failure to be mended" {
  cat >typed.py <<'P'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("berth", ["berth", "run", "-q", "-m", "2G", "--retry", "3", "--retry-after", "50ms", "--", "bash", "-c", "echo run >>runs; echo up; exec sleep 60"])
said = b""
while b"up" not in said: said += os.read(terminal, 100)
os.write(terminal, b"\x03")
_, status = os.waitpid(pid, 0)
sys.exit(0 if os.WIFSIGNALED(status) else 1)
P
  python3 typed.py
  [[ $(wc -l <runs) == 1 && $(of 1 result) == killed ]]
}

@test "members of a set are started again, each for itself" {
  berth submit -q -m 2G --retry 1 --retry-after 50ms --grid n=1,2,3 -- \
    bash -c 'echo {n} >>runs; (({n} != 2)) || (($(grep -c 2 runs) > 1))'
  berth wait 1
  [[ $(sort runs | tr '\n' ' ') == "1 2 2 3 " && $(of 1 set.failed) == 0 && $(of 1.2 restarts) == 1 ]]
}

@test "what ran out of memory is started again, once, with more" {
  berth submit -m 2G --on-oom grow -- vram_user --bytes 3GiB
  run berth wait 1
  status_is 0
  run berth logs --attempt 1 1
  contains "lease 1: its command ran out of memory with 2.0 GiB; it is started again, once, with 4.0 GiB"
  run berth logs 1
  contains "4.0 GiB"
  [[ $(of 1 retries.grown) == true && $(of 1 restarts) == 1 ]]
  run berth history --events
  contains "retry"
  contains "with 4.0 GiB, since it ran out of memory"
  run berth run -q -m 2G --on-oom grow --retry 1 --retry-after 50ms -- vram_user --bytes 10GiB
  ((status != 0))
  [[ $(of 2 restarts) == 2 && $(of 2 vram_granted_bytes) == $((4 << 30)) ]]
}

@test "with -m auto it grows unless it is told not to" {
  berth run -q -m 4G -- bash -c 'vram_user --bytes $(cat size)' || true
  echo 1GiB >size
  berth run -q -m 4G -- bash -c 'vram_user --bytes $(cat size)'
  echo 2GiB >size
  berth submit -q -m auto -- bash -c 'vram_user --bytes $(cat size)'
  run berth wait 3
  status_is 0
  [[ $(of 3 restarts) == 1 && $(of 3 on_oom) == grow ]]
  berth run -q -m 4G -- bash -c 'vram_user --bytes 1GiB #$(cat size)'
  berth run -q -m auto --on-oom fail -- bash -c 'vram_user --bytes 1GiB #$(cat size)'
  [[ $(of 5 on_oom) == fail ]]
}

@test "unless it is to grow, what runs out of memory fails like others" {
  run berth run -q -m 2G -- vram_user --bytes 3GiB
  ((status != 0))
  [[ $(of 1 restarts) == 0 && $(of 1 retries) == null ]]
}

@test "what makes no sense is refused" {
  run berth run -m 1G --retry 1001 -- true
  status_is 64
  run berth run -m 1G --retry few -- true
  status_is 64
  run berth run -m 1G --retry 1 --retry-after 0s -- true
  status_is 64
  run berth run -m 1G --on-oom shrink -- true
  status_is 64
  contains "fail, grow"
}
