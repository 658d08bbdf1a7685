#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth submit --each` and `--grid`: sets of jobs.
load lib

jobs() { echo "$XDG_STATE_HOME"/berth/*/sim/*/jobs; }
ended_as() { [[ $(of "$1" result) == "$2" ]]; }
of_set() { of "$1" "set.$2"; }
has_begun() { (($(of_set 1 begun) >= $1)); }
kill_keeper() {
  local pid
  pid=$(cat "$(jobs)/keeper.lock")
  kill -KILL "$pid"
  eventually process_gone "$pid"
}
process_gone() { ! kill -0 "$1" 2>/dev/null; }

@test "a grid is a job for each combination, and ends when all of them have" {
  run berth submit -m 2G -n sweep --grid lr=1e-3,3e-4 --grid width=256,512 -- \
    bash -c 'echo "{lr} {width} $BERTH_EACH_LR $BERTH_MEMBER {other}"; [[ {width} != 512 ]]'
  status_is 0
  [[ ${lines[-1]} == 1 ]]
  run berth wait 1
  status_is 1
  run berth show 1
  contains "of its 4 members 4 have ended (2 not well)"
  [[ $(of 1 result) == failed && $(of_set 1 failed) == 2 && $(of 1 members) == 4 ]]
  [[ $(of 1.2 result) == failed && $(of 1.3 result) == ok && $(of 1.3 name) == sweep.3 ]]
  grep -q "^1e-3 512 1e-3 2 {other}$" <(berth logs 1.2)
  grep -q "^3e-4 256 3e-4 3 {other}$" <(berth logs 1.3)
  eventually jq -e '.result == "failed"' "$(jobs)/1/result"
}

@test "each line of a file, and of stdin, is a job" {
  printf '%s\n' one '' '{"n":2,"word":"a b"}' >list
  berth submit -q -m 1G --each list -- bash -c 'echo "[$BERTH_ITEM] [$BERTH_EACH_WORD] [{item}]"'
  berth wait 1
  grep -q '^\[one\] \[\] \[one\]$' <(berth logs 1.1)
  grep -q '^\[{"n":2,"word":"a b"}\] \[a b\] \[{item}\]$' <(berth logs 1.2)
  seq 3 | berth submit -q -m 1G --each - -- sh -c 'echo {item}' >id
  berth wait "$(<id)"
  grep -q '^3$' <(berth logs "$(<id).3")
}

@test "no more at a time than asked for, and one of them waits at a time" {
  berth submit -q -m 1G --grid n=1,2,3,4,5 --max-running 2 -- \
    bash -c 'echo x >>up; until [[ -e go ]]; do sleep 0.05; done'
  eventually grep -qz 'x.x' up
  sleep 0.3
  [[ $(wc -l <up) == 2 && $(of_set 1 begun) == 2 ]]
  touch go
  eventually ended_as 1 ok
  [[ $(wc -l <up) == 5 ]]
}

@test "a member waits in the place of its set, before what came later" {
  berth submit -q -m 14G --grid n=1,2 -- bash -c 'until [[ -e go{n} ]]; do sleep 0.05; done; echo set{n} >>order'
  eventually state_is 1.1 held
  berth submit -q -m 14G -n later -- bash -c 'echo later >>order'
  eventually state_is 1.2 waiting
  touch go1 go2
  eventually ended_as later ok
  [[ $(tr '\n' ' ' <order) == "set1 set2 later " ]]
}

@test "cancelled, it takes its members along" {
  berth submit -q -m 6G --grid n=1,2,3,4,5 -- sleep 60
  eventually state_is 1.2 held
  eventually state_is 1.3 waiting
  berth cancel 1
  eventually ended_as 1.1 cancelled
  [[ $(of 1 result) == cancelled && $(of 1.3 result) == cancelled ]]
  eventually jq -e '.result == "cancelled"' "$(jobs)/1/result"
  [[ ! -e $(jobs)/1/4 ]]
}

@test "on hold no further member begins" {
  berth submit -q -m 14G --grid n=1,2,3 -- bash -c 'until [[ -e go ]]; do sleep 0.05; done'
  eventually state_is 1.1 held
  berth hold 1
  touch go
  eventually ended_as 1.1 ok
  sleep 0.3
  [[ $(of 1.2 state) != held ]]
  berth hold --off 1
  eventually ended_as 1 ok
}

@test "the keeper and the daemon are killed in the midst of it: each member runs once" {
  berth submit -q -m 3G --grid n=1,2,3,4,5,6,7,8,9,10,11,12 -- bash -c 'echo {n} >>runs; sleep 0.3'
  eventually has_begun 3
  kill_keeper
  berth ps >/dev/null
  eventually has_begun 6
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually has_begun 9
  kill_keeper
  eventually ended_as 1 ok
  [[ $(sort -n runs | tr '\n' ' ') == "1 2 3 4 5 6 7 8 9 10 11 12 " ]]
  [[ $(of_set 1 failed) == 0 ]]
}

@test "resumed, only what is missing runs" {
  sweep() { berth submit -q -m 1G --grid n=1,2,3 --max-running 1 "$@" -- bash -c 'echo {n} >>runs; [[ {n} != 2 || -e mended ]]'; }
  sweep
  berth wait 1 || true
  touch mended
  run sweep --resume 1
  berth wait "$output"
  [[ $(of "$output" members) == 1 && $(tr '\n' ' ' <runs) == "1 2 3 2 " ]]
  berth submit -q -m 1G --grid n=1,2,3 -- true >id
  berth wait "$(<id)"
  run sweep --resume "$(<id)"
  status_is 0
  contains "all of them have ended well in set $(<id): nothing is submitted"
  berth submit -q -m 1G --grid n=1,2 -- sleep 60 >id
  run sweep --resume "$(<id)"
  status_is 64
  contains "set $(<id) is not over"
  run sweep --resume 99
  status_is 64
  contains "there is no set 99 of yours"
}

@test "a member whose file makes no sense is written anew, and runs once" {
  berth submit -q -m 14G --grid n=1,2,3 -- bash -c 'echo {n} >>runs; until [[ -e go ]]; do sleep 0.05; done'
  eventually state_is 1.1 held
  eventually state_is 1.2 waiting
  kill_keeper
  : >"$(jobs)/1/2/job"
  touch go
  berth ps >/dev/null
  eventually ended_as 1 ok
  [[ $(tr '\n' ' ' <runs) == "1 2 3 " && -e $(jobs)/1/bad-2 ]]
  grep -q "job 1.2 is written anew" "$(jobs)/keeper.log"
}

@test "a thousand members are one request, and one file" {
  seq 1000 >list
  berth submit -q -m 14G --each list -- sleep 60
  eventually state_is 1.1 held
  eventually state_is 1.2 waiting
  [[ $(berth queue --json | jq '.items | length') == 2 ]]
  run berth why 1
  contains "of its 1000 members 0 have ended, 2 wait or run, and 998 are still to come"
}

@test "the environment goes with the last member" {
  SECRET=hush berth submit -q -m 1G --grid n=1,2 -- bash -c '((${#SECRET} == 4))'
  berth wait 1
  eventually test -e "$(jobs)/1/result"
  ! grep -rqs hush "$(jobs)"
}

@test "what makes no set is refused" {
  run berth run -m 1G --grid n=1 -- true
  status_is 64
  contains "are for jobs: berth submit"
  run berth submit -m 1G --grid n -- true
  status_is 64
  contains "'n' is not NAME=A,B,..."
  run berth submit -m 1G --each nowhere -- true
  status_is 64
  contains "nowhere"
  printf 'a\n{"b":[1]}\n' >list
  run berth submit -m 1G --each list -- true
  status_is 64
  contains "line 2: the value of \"b\""
  run berth submit -m 1G --each list --grid n=1 -- true
  status_is 64
  run berth submit -m 1G --max-running 2 -- true
  status_is 64
  run berth submit -m 1G --grid n=1,2 --max-running 0 -- true
  status_is 64
  run berth submit -m 1G --grid n=1,2 --wait=5m -- true
  status_is 64
  contains "waits without bound"
  berth submit -q -m 1G --grid n=1,2 -- true
  run berth logs 1
  status_is 64
  contains "job 1 is a set of 2: name one of them, 1.1 to 1.2"
}

@test "jobs that fail one after the other put their set on hold, with the reason and the cure" {
  seq 10000 >list
  berth submit -q -m 1G --each list -n sweep -- bash -c 'echo x >>starts; [[ -e mended ]] || exit 3'
  set_is_on_hold() { of 1 flags | grep -q on_hold; }
  eventually set_is_on_hold
  sleep 0.5
  (($(wc -l <starts) < 20))
  run berth why sweep
  contains "it is on hold, since 10 attempts of its jobs in a row have failed within 5m, the last that of 1."
  contains "(berth hold --off 1 lets its jobs go on)"
  run berth ps
  contains "10 attempts"
  run berth history --events
  contains "hold"
  [[ $(of 1 on_hold.by) == null && $(of 1 on_hold.reason) == 10\ attempts* ]]
  touch mended
  before=$(wc -l <starts)
  berth hold --off 1
  more() { (($(wc -l <starts) > before + 12)); }
  eventually more
  berth cancel 1
}

@test "how many failures are too many is configured" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[jobs]\nbreaker_failures = 0\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  seq 12 >list
  berth submit -q -m 1G --each list -- false
  patience=30 eventually ended_as 1 failed
  [[ $(of_set 1 failed) == 12 ]]
}

@test "what failed is submitted again as a set of its own, with the variables of now" {
  printf '%s\n' a b c d >list
  VALUE=1 berth submit -q -m 1G --each list --max-running 1 -n sweep --retry 0 -- \
    bash -c 'echo "{item}$VALUE" >>runs; case {item} in b | d) [[ -e mended ]] ;; esac'
  berth wait 1 || true
  rm list
  touch mended
  VALUE=2 run berth requeue --failed 1
  status_is 0
  second=$output
  berth wait "$second"
  [[ $(of "$second" members) == 2 && $(tr '\n' ' ' <runs) == "a1 b1 c1 d1 b2 d2 " ]]
  run berth requeue --failed "$second"
  status_is 0
  contains "none has failed in set $second: nothing is submitted"
  berth submit -q -m 1G --grid n=1,2 -- sleep 60 >live
  run berth requeue --failed "$(<live)"
  status_is 64
  contains "--failed: set $(<live) is not over"
  run berth requeue --failed 99
  status_is 64
  contains "--failed: there is no set 99 of yours"
  run berth requeue --failed 1.2
  status_is 64
}

@test "resumed again, what the sets before have done stays done" {
  sweep() { berth submit -q -m 1G --grid n=1,2,3 --max-running 1 "$@" -- bash -c 'echo {n} >>runs; [[ {n} != "$(cat bad)" ]]'; }
  echo 2 >bad
  sweep >one
  berth wait "$(<one)" || true
  sweep --resume "$(<one)" >two
  berth wait "$(<two)" || true
  echo 9 >bad
  sweep --resume "$(<two)" >three
  berth wait "$(<three)"
  [[ $(tr '\n' ' ' <runs) == "1 2 3 2 2 " ]]
  run sweep --resume "$(<three)"
  status_is 0
  contains "all of them have ended well in set $(<three): nothing is submitted"
}

@test "each job has a seed of its own, which stays the same however it is run again" {
  sweep() { berth submit -q -m 1G --max-running 1 "$@" -- bash -c 'echo "{lr} {width} $BERTH_SEED" >>seeds; [[ {lr} != 2 || -e mended ]]'; }
  sweep --seed 42 --grid lr=1,2 --grid width=3,4 >id
  berth wait "$(<id)" || true
  [[ $(wc -l <seeds) == 4 && $(cut -d' ' -f3 seeds | sort -u | wc -l) == 4 ]]
  sort seeds >first
  : >seeds
  touch mended
  sweep --resume "$(<id)" --grid width=4,3 --grid lr=1,2,5 >id2
  berth wait "$(<id2)"
  [[ $(grep -c '^2 ' seeds) == 2 && -z $(grep '^2 ' seeds | sort | comm -23 - first) ]]
  : >seeds
  sweep --seed 42 --grid lr=1,2 --grid width=3,4 >id3
  berth wait "$(<id3)"
  diff first <(sort seeds)
  sweep --seed 43 --grid lr=1 --grid width=3 >id4
  berth wait "$(<id4)"
  fails grep -q "^$(tail -1 seeds)$" first
  run berth submit -m 1G --seed 1 -- true
  status_is 64
  contains "--seed is of --each and --grid"
  berth run -q -m 1G -- bash -c '[[ -z ${BERTH_SEED-} ]]'
}
