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
  timeout 60 berth logs -f 2 >all 2>all_said 3>&- &
  local all=$!
  timeout 60 berth logs -f 3 >each 2>each_said 3>&- &
  eventually grep -q "waiting for it" all_said
  eventually grep -q "waiting for it" each_said
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

# bound SIZE: of logs, in the configuration.
bound() {
  mkdir -p "$world/config/berth"
  echo "jobs.log_max = \"$1\"" >"$world/config/berth/config.toml"
}
# loud COUNT: so many lines of 64 bytes, with a rest after each thousand of them.
loud() {
  local line
  for ((line = 1; line <= $1; line++)); do
    printf 'line %-58d\n' "$line"
    ((line % 1000)) || sleep 0.2
  done
}
on_disk() { du -k "$1" | cut -f 1; }
# whole_lines FILE: nothing in it but those of `loud`, each after one before it.
whole_lines() { ! grep -qvaE '^line [0-9]+ +$' "$1" && sort -c -n -k 2 "$1"; }

@test "a log takes no more of the disk than it may, and what is left of it is shown, and followed" {
  fallocate -l 8192 probe && fallocate -p -l 4096 probe || skip "this file system makes no holes"
  bound 128KiB
  export -f loud
  berth submit -q -m 1G -- bash -c 'loud 20000'
  timeout 60 berth logs -f 1 >followed 2>/dev/null 3>&- &
  local following=$! most=0 now
  until is_over 1; do
    now=$(on_disk "$(jobs)/1/1.log" 2>/dev/null || echo 0)
    ((now <= most)) || most=$now
    sleep 0.05
  done
  wait $following
  ((most > 128 && most < 1200)) # It is looked at once a second.
  (($(on_disk "$(jobs)/1/1.log") <= 132 && $(stat -c %s "$(jobs)/1/1.log") == 1280000))
  whole_lines followed
  [[ $(tail -n 1 followed) == "line 20000 "* ]]
  berth logs 1 >left 2>said
  whole_lines left
  (($(wc -l <left) > 500 && $(wc -l <left) < 2100))
  grep -qE "^berth: job 1: [0-9.]+ ?[KM]iB of its log were cut away, as jobs.log_max says$" said
  berth logs -n 3 1 >last 2>said
  [[ $(wc -l <last) == 3 && ! -s said && $(tail -n 1 last) == "line 20000 "* ]]
  [[ $(berth logs -n 9999 1 2>said) == "$(<left)" && -s said ]]
}

@test "a keeper that comes back bounds the log of what runs, and 0 and --log have no bound" {
  fallocate -l 8192 probe && fallocate -p -l 4096 probe || skip "this file system makes no holes"
  bound 64KiB
  export -f loud
  berth submit -q -m 1G -- bash -c 'until [[ -e go ]]; do sleep 0.05; done; loud 3000; until [[ -e end ]]; do sleep 0.05; done'
  eventually test -e "$(jobs)/1/1.status"
  local keeper
  keeper=$(<"$(jobs)/keeper.lock")
  kill -KILL "$keeper"
  touch go
  large() { (($(stat -c %s "$(jobs)/1/1.log") == 192000)); }
  eventually large
  (($(on_disk "$(jobs)/1/1.log") > 180))
  berth ps >/dev/null
  small() { (($(on_disk "$(jobs)/1/1.log") <= 68)); }
  eventually small
  berth submit -q -m 1G --log mine -- bash -c 'loud 3000'
  bound 0
  berth submit -q -m 1G -- bash -c 'loud 3000'
  berth wait 2 3
  eventually is_over 3
  touch end
  (($(on_disk mine) > 180 && $(on_disk "$(jobs)/3/1.log") > 180))
  [[ $(berth logs 3 2>&1) == "$(loud 3000)" ]]
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

@test "--json is how a log ends, bounded, and says of what" {
  berth submit -q -m 14G -n blocker -- bash -c 'for i in {1..600}; do echo "line $i"; done; until [[ -e go ]]; do sleep 0.05; done'
  berth submit -q -m 8G -- bash -c 'head -c 400000 /dev/zero | tr "\\0" x; echo; echo end'
  eventually bash -c 'berth logs 1 | grep -q "^line 600$"'
  berth logs --json 1 | jq -e '.attempt == 1 and .attempts == 1 and (.over | not) and (.whole | not)'
  [[ $(berth logs --json 1 | jq -r .text | wc -l) == 501 && $(berth logs --json -n 3 1 | jq -r .text) == $'line 598\nline 599\nline 600' ]]
  berth logs --json -n 600 1 | jq -e '.whole and (.text | startswith("line 1\n"))'
  berth logs --json 2 | jq -e '.attempt == 0 and .attempts == 0 and .text == "" and (.over | not)'
  touch go
  berth wait 1 2
  eventually bash -c 'berth logs --json 2 | jq -e .over'
  berth logs --json 2 | jq -e '(.whole | not) and (.text | length == 262144) and (.text | endswith("x\nend\n"))'
  run berth logs --json --attempt 2 2
  status_is 66
  jq -e '.error.message == "job 2 has 1 attempts"' <<<"${lines[-1]}"
  berth reserve -q -n plain -m 1G 1h
  run berth logs --json plain
  status_is 66
  jq -e '.error.message | endswith("is no job of yours, so nothing that it printed was kept (berth submit makes jobs)")' <<<"${lines[-1]}"
  run berth logs --json -f 2
  status_is 64
}
