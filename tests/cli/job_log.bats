#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth submit --log`: the output of a job in a file that its user names.
load lib

jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
is_over() { [[ -e $(jobs)/$1/result ]]; }

@test "the output is in the file that was named, in the job's directory, and logs shows it" {
  mkdir there
  berth submit -q -m 1G --cwd there --log out-%j-%a-100%%.log -- bash -c 'echo to the file; echo bad >&2'
  berth wait 1
  grep -q "^to the file$" there/out-1-1-100%.log
  grep -q "^bad$" there/out-1-1-100%.log
  [[ $(stat -c %a there/out-1-1-100%.log) == 600 ]]
  [[ $(berth logs 1 2>&1) == $'to the file\nbad' ]]
  [[ $(<"$(jobs)/1/latest") == $'to the file\nbad' ]]
  [[ ! -s $(jobs)/1/1.log ]]
}

@test "further attempts are appended, and each is shown from where it began" {
  echo before >mine.log
  ln -s mine.log link
  berth submit -q -m 1G --log link -- bash -c 'echo one; until [[ -e go ]]; do sleep 0.05; done; echo two'
  eventually grep -q one mine.log
  [[ $(berth logs 1) == one ]]
  berth submit -q -m 1G --log mine.log -- bash -c 'echo other'
  berth wait 2
  touch go
  berth wait 1
  [[ $(<mine.log) == $'before\none\nother\ntwo' ]]
  [[ $(berth logs -n 1 1) == two && $(berth logs -n 9 1) == $'one\nother\ntwo' ]]
  # As an attempt leaves it whose berth run was killed while the job waited.
  cat >"$(jobs)/1/2.status" <<<'{"phase":"start","pid":1}
{"phase":"start","log_at_bytes":17}'
  chmod 0600 "$(jobs)/1/2.status"
  [[ $(berth logs --attempt 1 1) == $'one\nother' && $(berth logs --attempt 1 -n 1 1) == other ]]
  [[ $(berth logs --attempt 2 1) == two && $(berth logs 1) == two ]]
}

@test "an attempt that follows a failed one goes on in the same file, and logs -f with it" {
  berth submit -q -m 14G -n blocker -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'
  berth submit -q -m 8G --retry 2 --retry-after 50ms --log all.log -- bash -c 'echo "try ${BERTH_RESTART:-0}"; [[ ${BERTH_RESTART:-0} == 2 ]]'
  berth submit -q -m 8G --retry 1 --retry-after 50ms --log each-%a.log -- bash -c 'echo "try ${BERTH_RESTART:-0}"; [[ ${BERTH_RESTART:-0} == 1 ]]'
  timeout 30 berth logs -f 2 >all 2>/dev/null 3>&- &
  local all=$!
  timeout 30 berth logs -f 3 >each 2>/dev/null 3>&- &
  touch go
  wait $! $all
  [[ $(grep ^try all.log) == $'try 0\ntry 1\ntry 2' ]]
  cmp all all.log
  [[ $(grep ^try each-1.log) == "try 0" && $(grep ^try each-2.log) == "try 1" ]]
  cmp each <(cat each-1.log each-2.log)
  [[ $(berth logs --attempt 2 2 2>/dev/null | grep ^try) == "try 1" ]]
  [[ $(berth logs 2 | grep ^try) == "try 2" ]]
}

@test "each member of a set has a log of its own" {
  run berth submit -m 1G --log out.log --grid n=1,2 -- true
  status_is 64
  contains "--log: 'out.log' would be the log of each member of the set: put %j in it"
  berth submit -q -m 1G --log m%j --grid n=1,2 -- bash -c 'echo {n}; [[ {n} == 1 || -e fixed ]]'
  run berth wait 1
  [[ $(<m1.1) == 1 && $(<m1.2) == 2 && $(berth logs 1.2) == 2 ]]
  eventually is_over 1
  touch fixed
  run berth requeue --failed 1
  status_is 0
  set=${lines[-1]}
  berth wait "$set"
  [[ $(<"m$set.1") == 2 ]]
}

@test "what cannot be written is an error at once, as is a name that makes no sense" {
  run berth submit -m 1G --log nowhere/out -- true
  status_is 64
  contains "--log: cannot write into '$PWD/nowhere/': No such file or directory"
  run berth submit -m 1G --log "$PWD" -- true
  status_is 64
  contains "is no regular file"
  run berth submit -m 1G --log a%x -- true
  status_is 64
  contains "'%x' in 'a%x' means nothing"
  run berth run -m 1G --log out -- true
  status_is 64
  contains "--log is for jobs (berth submit)"
  [[ -z $(berth ps --json | jq -r '.items[].id') ]]
}

@test "what cannot be written when it starts makes the job failed, once, and says why" {
  mkdir place
  berth submit -q -m 14G -n blocker -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'
  berth submit -q -m 8G --retry 3 --log place/out -- touch ran
  berth submit -q -m 8G --log pipe -- touch ran
  rmdir place
  mkfifo pipe
  touch go
  eventually is_over 2
  eventually is_over 3
  jq -e '.result == "failed" and .code == 126' "$(jobs)/2/result"
  jq -e '.result == "failed" and .code == 126' "$(jobs)/3/result"
  run berth logs 2
  contains "cannot write its log $PWD/place/out: No such file or directory"
  run berth logs -f 3
  contains "cannot write its log $PWD/pipe: "
  [[ ! -e ran && ! -e $(jobs)/2/2.status ]]
}

@test "clean leaves what a user named" {
  berth submit -q -m 1G --log mine -- echo mine
  berth submit -q -m 1G --log /dev/null -- echo nowhere
  berth wait 1 2
  eventually is_over 1
  eventually is_over 2
  [[ -z $(berth logs 2) && -c /dev/null ]]
  run berth clean
  [[ $output == "removed 2 jobs" && $(<mine) == mine && -c /dev/null ]]
}
