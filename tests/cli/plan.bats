#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Plans: `berth trust`, `up` and `down` on real processes.
load lib

# plan LINES...: of the session `train`, beside `prepare`, which it comes after.
plan() {
  {
    printf '[session.prepare]\ncommand = "echo prepared >>log"\nvram = "1G"\n'
    printf '[session.train]\ncommand = "echo train >>log; exec sleep 60"\nafter-ok = "prepare"\n'
    printf '%s\n' "$@"
  } >berth.toml
}
trusted_plan() {
  plan "$@"
  berth trust --yes
}
both_are_there() { state_is train held && [[ $(of prepare result) == ok ]]; }
lines_in_log() { [[ $(xargs <log) == "$1" ]]; }

@test "a plan is not used before it is trusted" {
  plan 'vram = "2G"'
  run berth up
  status_is 77
  contains "you have not said yet that you trust it: berth trust"
  run berth trust </dev/null
  status_is 64
  contains "prepare: sh -c 'echo prepared >>log'"
  contains "say --yes if you trust it"
  run berth up
  status_is 77
  run berth trust --yes
  status_is 0
  run berth trust
  status_is 0
  contains "is trusted as it is"
}

@test "a plan that has changed is not used, and trust shows what is new" {
  trusted_plan 'vram = "2G"'
  plan 'vram = "3G"'
  run berth up
  status_is 77
  contains "has changed since you trusted it"
  run berth trust --yes
  contains '- vram = "2G"'
  contains '+ vram = "3G"'
  [[ $output != *prepared* ]]
  [[ $(berth up --dry-run) == *"train: would be started"* ]]
}

@test "trust asks on a terminal, and no is no" {
  plan 'vram = "2G"'
  run expect <<'E'
spawn berth trust
expect "do you trust it?"
send "n\r"
expect eof
catch wait result
exit [lindex $result 3]
E
  status_is 1
  run berth up
  status_is 77
}

@test "a plan of another user, or that others can write to, is refused" {
  plan 'vram = "2G"'
  chmod g+w berth.toml
  run berth trust --yes
  status_is 77
  contains "can be written by group or others: chmod go-w"
  chmod g-w berth.toml
  berth trust --yes
  if [[ $(id -u) == 0 ]]; then
    chown 12345 berth.toml
    run berth up
    status_is 77
    contains "belongs to user 12345"
  fi
}

@test "no control characters of a plan reach the terminal" {
  printf '[session.a]\ncommand = "echo \\u001b[31m; sleep 1"\nvram = "1G"\n' >berth.toml
  run berth trust --yes
  [[ $output != *$'\e'* ]]
}

@test "problems have a line and a column, before anything is started" {
  plan 'vram = "2"' 'colour = "red"'
  run berth trust --yes
  status_is 65
  contains "berth.toml:7:8: session.train.vram: a size needs a unit"
  contains "berth.toml:8:1: session.train.colour: there is no such key"
  rm berth.toml
  run berth up
  status_is 66
  contains "berth.toml: there is no such file"
}

@test "up starts all in their order, and a second one changes nothing" {
  trusted_plan 'vram = "2G"'
  run berth up
  status_is 0
  contains "prepare: started as 1"
  contains "train: started as 2"
  eventually both_are_there
  run --separate-stderr berth up
  [[ $output == "prepare: has ended well as 1"$'\n'"train: goes on as 2" ]]
  eventually lines_in_log "prepared train"
  [[ $(berth ps -a --json | jq '.items | length') == 2 ]]
  [[ $(of train after[0].lease) == 1 && $(of train after[0].ends) == ok ]]
}

@test "what has changed is ended and started anew; what has not goes on" {
  trusted_plan 'vram = "2G"'
  berth up
  eventually both_are_there
  trusted_plan 'vram = "3G"'
  run berth up
  contains "train: ends as 2: it has changed"
  contains "train: started as 3"
  [[ $(of 2 result) == cancelled ]]
  eventually state_is 3 held
  [[ $(of 3 vram_granted_bytes) == $((3 << 30)) ]]
  eventually lines_in_log "prepared train train"
}

@test "what has ended well is started again only if that is said" {
  trusted_plan 'vram = "2G"'
  berth up
  eventually both_are_there
  run berth up prepare
  contains "prepare: has ended well as 1"
  run berth up --again prepare
  contains "prepare: started as 3"
  eventually lines_in_log "prepared train prepared"
}

@test "one session alone, with what it comes after; a name that is not there" {
  trusted_plan 'vram = "2G"' '[session.other]' 'command = "true"' 'vram = "1G"'
  run berth up train
  contains "prepare: started as 1"
  contains "train: started as 2"
  [[ $output != *other* ]]
  run berth up trian
  status_is 64
  contains "the plan has no session 'trian'; did you mean \"train\"?"
}

@test "what comes after one that could not be started is not started" {
  trusted_plan 'vram = "2G"'
  sed -i 's/vram = "1G"/vram = "40G"/' berth.toml
  berth trust --yes
  run berth up
  status_is 64
  contains "40.0 GiB fits on no GPU here"
  contains "train: is not started, since prepare was not"
}

@test "down ends all, the youngest first, also when the file is gone" {
  trusted_plan 'vram = "2G"' '[session.other]' 'command = "exec sleep 60"' 'vram = "1G"'
  berth up
  eventually both_are_there
  eventually state_is other held
  run berth down --dry-run
  [[ $output == "other: would be ended as 3"$'\n'"train: would be ended as 2" ]]
  run berth down train
  status_is 0
  [[ $(of train state) == ended && $(of other state) == held ]]
  rm berth.toml
  run berth down
  status_is 0
  [[ $(of other result) == cancelled ]]
  run berth down
  [[ $output == "nothing of it runs or waits" ]]
}

@test "down lets each save itself first, and lets it go on where that fails" {
  cat >save <<'S'
#!/bin/sh
echo saved >>log
test ! -e broken
S
  chmod +x save
  trusted_plan 'vram = "2G"' "checkpoint = \"cmd:$PWD/save\""
  berth up
  eventually both_are_there
  touch broken
  run berth down
  status_is 1
  [[ $(of train state) == held ]]
  rm broken
  run berth down
  status_is 0
  [[ $(of train result) == cancelled ]]
  eventually lines_in_log "prepared train saved saved"
}

@test "down of a session that does not save itself, if that is said" {
  trusted_plan 'vram = "2G"' 'checkpoint = "cmd:false"'
  berth up
  eventually both_are_there
  run berth down --no-save
  status_is 0
  [[ $(of train result) == cancelled ]]
}

@test "a set of a plan goes down with its members" {
  printf '[session.sweep]\ncommand = "exec sleep {s}"\nvram = "1G"\ngrid = "s=60,61,62"\n' >berth.toml
  berth trust --yes
  run berth up
  contains "sweep: started as 1"
  eventually state_is 4 held
  run berth up
  contains "sweep: goes on as 1"
  berth down
  eventually state_is 4 ended
}

@test "sessions of a plan have its tier, and start in its directory" {
  printf '[session.a]\ncommand = "pwd >where; sleep 60"\nvram = "1G"\ntier = "fast"\n' >berth.toml
  berth trust --yes
  mkdir elsewhere && cd elsewhere
  berth up -f ../berth.toml
  eventually state_is a held
  [[ $(of a priority) == high && $(of a tier) == fast ]]
  eventually test -s ../where
  [[ $(cat ../where) == "$HOME" ]]
}

@test "the plan as a timeline: what would run when, and why not now" {
  cat >berth.toml <<'P'
[session.train]
command = "exec sleep 60"
vram = "10G"
eta = "1h"
[session.sweep]
command = "exec sleep 60"
vram = "8G"
eta = "30m"
[session.last]
command = "true"
vram = "1G"
eta = "1m"
after-ok = "sweep"
P
  run berth plan # It needs no trust: nothing is run.
  status_is 0
  berth trust --yes
  berth plan --json | jq -e '.items | map([.session, .starts_in_ms, .reason]) == [
    ["train", 0, null], ["sweep", 3600000, "memory"], ["last", 5400000, "after"]]'
  berth plan --json | jq -e '.items[1].holders == ["train"]'
  berth up train
  eventually state_is train held
  berth plan --json | jq -e '.items[0].step == "goes_on" and .items[0].id == 1'
  berth plan --json | jq -e '.items[1].starts_in_ms | . > 3500000 and . <= 3600000'
  run berth plan
  contains "train"
  contains "runs"
  contains "waits for memory: train"
  run --separate-stderr berth plan --csv --fields session,step
  [[ ${lines[1]} == "train,goes_on"* ]]
}
