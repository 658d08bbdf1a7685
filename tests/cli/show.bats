#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Output of `status`, `ps`, `queue`, `show` and `why`, for people and for programs.
load lib

# Lease 1 holds 8 GiB and uses 1, lease 2 holds 6 with an eta, request 3 waits for 6.
three_sessions() {
  berth run -m 8G -n train-gpt2 -- vram_user --bytes 1GiB --hold 60s >"$world/1" 2>&1 3>&- &
  eventually grep -q holding "$world/1"
  berth run -m 6G -n other --eta 10m -- sleep 60 >"$world/2" 2>&1 3>&- &
  eventually has_state 2 held
  berth run -m 6G -n sweep -- sleep 1 >"$world/3" 2>&1 3>&- &
  eventually has_state 3 waiting
  eventually sampled
}
has_state() { [[ $(berth ps "$1" --fields state --no-header -o tsv 2>/dev/null) == "$2" ]]; }
sampled() { [[ -n $(berth ps 1 -o tsv --fields vram_used_bytes --no-header 2>/dev/null) ]]; }
field() { berth ps "$1" --json | jq -r ".items[0].$2"; }

@test "berth alone is berth status, and an empty machine says how to begin" {
  run --separate-stderr berth
  status_is 0
  contains "GPU 0"
  contains "berth run -m 8G -- COMMAND"
  alone=$output
  run --separate-stderr berth status
  [[ $output == "$alone" ]]
}

@test "status shows devices, leases, and why the queue waits" {
  three_sessions
  run --separate-stderr berth status
  status_is 0
  contains "granted 14.0 GiB  grantable 1.5 GiB  healthy, simulated"
  contains "$(id -un)/train-gpt2"
  contains "Queue (1)"
  contains "waits for memory; 2 ends in ~10 min"
  contains "[berth why 3]"
}

@test "why says who, until when, and what would help" {
  three_sessions
  run --separate-stderr berth why 3
  status_is 0
  me=$(id -un)
  contains "3 $me/sweep is waiting for 6.0 GiB on any GPU (normal priority, "
  contains "Not now: GPU 0 can grant 1.5 GiB (16.0 total − 0.5 held back − 14.0 charged)."
  contains "First chance: in ~10 min, when 2 ($me/other) is expected to end."
  contains "Ahead of it: nobody."
  contains "It would start sooner if: it asks for 1.5 GiB (-m 1536M) · "
  contains "1 ($me/train-gpt2) ends (berth cancel 1)"
  run berth why 1
  status_is 0
  contains "is not waiting: it is held with 8.0 GiB on GPU 0"
}

@test "what why proposes works" {
  three_sessions
    [[ $(berth why 3) =~ 'shrinks to its peak of '[^\(]*'(berth resize 1 -m '([0-9]+M)')' ]]
  berth resize 1 -m "${BASH_REMATCH[1]}"
  eventually has_state 3 held
}

@test "every output says that the GPU is simulated" {
  three_sessions
  for verb in status ps queue "show 1" "why 3" "daemon status" version doctor "ps --csv" \
    "ps --json" "status -o ids" "release 1 --dry-run" "cancel 3"; do
    run berth $verb
    contains simulated
  done
}

@test "ps --json has the fields that programs rely on, and null for what is unknown" {
  three_sessions
  run --separate-stderr berth ps --json
  status_is 0
  jq -e '.schema == "berth/ps/v1" and .simulated and (.time | test("^2.*T.*Z$"))' <<<"$output"
  jq -e '.items[0] | .id == 1 and .name == "train-gpt2" and .state == "held" and
    .vram_granted_bytes == 8589934592 and .vram_used_bytes > 1073741824 and
    (.devices[0] | .index == 0 and (.uuid | startswith("GPU-"))) and (.pid | type) == "number" and
    .user == "'"$(id -un)"'" and .user_id == '"$UID"' and (.started | test("Z$")) and
    .expected_end == null and .result == null' <<<"$output"
  jq -e '.items[2] | .state == "waiting" and .vram_used_bytes == null and .started == null' \
    <<<"$output"
  [[ $(jq .items[1].expected_end <<<"$output") == '"2'*Z\" ]]
}

@test "the other formats have the same names" {
  three_sessions
  run --separate-stderr berth ps --csv --fields id,name,vram_granted_bytes,devices
  [[ $output == $'id,name,vram_granted_bytes,devices\r\n1,train-gpt2,8589934592,0\r'* ]]
  run --separate-stderr berth ps -o tsv --fields id,state --no-header
  [[ $output == $'1\theld\n2\theld\n3\twaiting' ]]
  run --separate-stderr berth ps -o ndjson --fields id,state
  [[ ${lines[2]} == '{"id":3,"state":"waiting"}' ]]
  run --separate-stderr berth ps -q
  [[ $output == $'1\n2\n3' ]]
  run --separate-stderr berth ps --fields id,name
  [[ $output == $'id  name\n1   train-gpt2\n2   other\n3   sweep' ]]
  run --separate-stderr berth status --csv --fields index,vram_grantable_bytes
  [[ ${lines[1]} == $'0,1610612736\r' ]]
  run --separate-stderr berth queue -q
  [[ $output == 3 ]]
  [[ $(berth show 2 --json | jq -r .name) == other ]]
  [[ $(berth why 3 --json | jq -r .reason) == memory ]]
}

@test "BERTH_FORMAT and the settings choose the format where no option does" {
  berth daemon start
  run --separate-stderr env BERTH_FORMAT=json berth ps
  jq -e '.items == []' <<<"$output"
  mkdir "$world/config/berth"
  printf '[client]\noutput = "csv"\n' >"$world/config/berth/config.toml"
  run --separate-stderr berth ps --fields id,name
  [[ $output == $'id,name\r' ]]
  run --separate-stderr berth ps -o json
  jq -e '.items == []' <<<"$output"
}

@test "a lease is meant by number, handle, name, prefix, range and group" {
  three_sessions
  handle=$(field 1 handle)
  for word in 1 "$handle" "${handle:0:8}" train-gpt2 tra; do
    run --separate-stderr berth ps "$word" -q
    [[ $output == 1 ]]
  done
  run --separate-stderr berth ps 2..9 -q
  [[ $output == $'2\n3' ]]
  run --separate-stderr berth ps @last -q
  [[ $output == 3 ]]
  run --separate-stderr berth ps @mine -q
  [[ $output == $'1\n2\n3' ]]
  run berth ps 9
  status_is 66
  run berth ps tr
  status_is 66
  run berth ps @failed
  status_is 66
  contains "none of your leases failed"
  run berth ps @mien
  status_is 64
  contains "did you mean @mine?"
}

@test "@failed are those that ended other than well, and show knows how" {
  run berth run -m 1G -n good -- true
  run berth run -m 1G -n bad -- sh -c 'exit 3'
  run berth run -m 1G -n killed -- sh -c 'kill -9 $$'
  eventually state_is killed ended
  eventually state_is bad ended
  run --separate-stderr berth ps @failed --fields name --no-header -o tsv
  [[ $output == $'bad\nkilled' ]]
  run berth show bad
  contains "ended: failed with exit status 3"
  run berth show killed
  contains "ended: killed by signal 9"
  [[ $(field bad result) == failed && $(field bad exit_code) == 3 ]]
  run --separate-stderr berth ps -q
  [[ -z $output ]]
  run --separate-stderr berth ps -a -q
  [[ $output == $'1\n2\n3' ]]
}

@test "show says who has ended a lease, and what others ended is none of @failed" {
  three_sessions
  berth cancel 3
  berth cancel 1
  berth release --detach 2
  eventually has_state 1 ended
  for lease in 1 2 3; do
    run berth show "$lease"
    [[ $output =~ "ended by"\ +$(id -un) ]]
    [[ $(field "$lease" ended_by) == "$(id -un)" && $(field "$lease" ended_by_id) == "$UID" ]]
  done
  [[ $(field 2 result) == detached ]]
  eventually grep -q "lease 1 was cancelled by you; its command was told to end" "$world/1"
  eventually grep -q "lease 2 was released by you; its command runs on without a lease" "$world/2"
  eventually grep -q "lease 3 was cancelled while it waited, by you" "$world/3"
  run --separate-stderr berth ps -q @failed
  [[ -z $output ]]
  run --separate-stderr berth ps -q 1
  [[ $output == 1 ]]
}

@test "a prefix that fits several leases is refused with their numbers" {
  berth run -m 1G -n train-a -- sleep 60 3>&- &
  berth run -m 1G -n train-b -- sleep 60 3>&- &
  eventually has_state 2 held
  run berth show train
  status_is 64
  contains 1
  contains 2
}

@test "with --watch, JSON is one line a time, and a reader that leaves ends it quietly" {
  berth daemon start
  run --separate-stderr bash -c 'berth ps --json --watch=100ms | head -n 3'
  [[ ${#lines[@]} == 3 && -z $stderr ]]
  for line in "${lines[@]}"; do jq -e '.items == []' <<<"$line"; done
  # Also where SIGPIPE is ignored.
  run --separate-stderr bash -c 'trap "" PIPE; berth ps --json --watch=100ms | head -n 1'
  [[ ${#lines[@]} == 1 && -z $stderr ]]
}

@test "colour is for terminals, unless it is asked for or declined" {
  berth run -m 1G -- sleep 60 3>&- &
  eventually has_state 1 held
  escape=$'\033'
  run berth ps
  [[ $output != *"$escape"* ]]
  run berth ps --color=always
  [[ $output == *"$escape[32mheld$escape[0m"* ]]
  run env CLICOLOR_FORCE=1 berth ps
  [[ $output == *"$escape[32mheld"* ]]
  run env CLICOLOR_FORCE=1 NO_COLOR=1 berth ps
  [[ $output != *"$escape"* ]]
  run script -qec "berth ps" /dev/null
  [[ $output == *"$escape[32mheld"* ]]
  run script -qec "NO_COLOR=1 berth ps" /dev/null
  [[ $output != *"$escape"* ]]
}

@test "without UTF-8 all is ASCII" {
  three_sessions
  for verb in status ps queue "show 1" "why 3" doctor; do
    LC_ALL=C run berth $verb
    [[ $(LC_ALL=C tr -d '\000-\177' <<<"$output") == "" ]]
  done
}

@test "no line is wider than the terminal" {
  three_sessions
  for width in 60 80 132; do
    for verb in status ps queue "why 3"; do
      run env COLUMNS="$width" script -qec "berth $verb --color=never" /dev/null
      for line in "${lines[@]}"; do
        line=${line%$'\r'}
        ((${#line} <= width)) || {
          echo "$width: $line"
          return 1
        }
      done
    done
  done
}

@test "what others call their sessions cannot steer a terminal or a spreadsheet" {
  berth run -m 1G -n "=1+1" -- sh -c 'sleep 60' $'\033]0;owned\007' 3>&- &
  eventually has_state 1 held
  for verb in status "ps -w" "show 1"; do
    run berth $verb
    [[ $output != *$'\033'* && $output != *$'\007'* ]]
  done
  run --separate-stderr berth ps --csv --fields name --no-header
  [[ $output == $'\'=1+1\r' ]]
}
