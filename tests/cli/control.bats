#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `release`, `resize` and `cancel`: what they do, what they say, what they end with.
load lib

# holder NUMBER SIZE BYTES: lease NUMBER, whose program uses so much of it.
holder() {
  berth run -m "$2" -n "holder-$1" -- vram_user --bytes "$3" --hold 60s >"$world/$1" 2>&1 3>&- &
  eventually grep -q holding "$world/$1"
  eventually sampled "$1"
}
sampled() { [[ -n $(berth ps "$1" -o tsv --fields vram_used_bytes --no-header 2>/dev/null) ]]; }
state_of() { berth ps "$1" --fields state --no-header -o tsv 2>/dev/null; }
has_state() { [[ $(state_of "$1") == "$2" ]]; }
# The process that adopted it may not have reaped it yet.
has_ended() { [[ ! -e /proc/$1 || $(<"/proc/$1/stat") == *") Z "* ]]; }
field() { berth ps "$1" --json | jq -r ".items[0].$2"; }

@test "release of a running program is refused with what to do instead" {
  holder 1 8G 1GiB
  run berth release 1 </dev/null
  status_is 1
  contains "lease 1 still runs its command: berth cancel 1 ends it, berth pause 1 frees its GPU"
  contains "berth release --detach 1 lets it run on without a lease"
  [[ $(state_of 1) == held ]]
  run berth release --yes 1 </dev/null
  status_is 1
  run berth release --kill --detach 1
  status_is 64
}

# answered WORD COMMAND...: the command on a terminal, on which WORD is typed.
answered() {
  python3 -c 'import os, pty, subprocess, sys
near, far = pty.openpty()
os.write(near, sys.argv[1].encode() + b"\n")
sys.exit(subprocess.run(sys.argv[2:], stdin=far).returncode)' "$@"
}

@test "on a terminal it is asked whether a running program is released" {
  holder 1 8G 1GiB
  run answered n berth release 1
  status_is 1
  contains "lease 1 ($(id -un)/holder-1) still runs its command, which would run on without a lease; go on? [y/N]"
  [[ $(state_of 1) == held ]]
  run answered y berth release 1
  status_is 0
  contains "its programs run on"
  [[ $(field 1 result) == detached ]]
}

@test "a program that is detached runs on, and the record and its terminal say so" {
  berth run -m 4G -- bash -c 'read -r _ <go' >"$world/1" 2>&1 3>&- &
  running=$!
  mkfifo go
  eventually has_state 1 held
  run berth release --detach 1
  status_is 0
  eventually grep -q "lease 1 was released by you; its command runs on without a lease" "$world/1"
  eventually has_state 1 ended
  ended=$(field 1 ended)
  [[ $(field 1 result) == detached && $(field 1 ended_by) == "$(id -un)" ]]
  run berth show 1
  contains "ended: detached"
  contains "ended by"
  echo >go
  wait "$running"
  [[ $(field 1 result) == detached && $(field 1 exit_code) == 0 && $(field 1 ended) == "$ended" ]]
  run berth history --sessions --json
  [[ $(jq -r .items[0].result <<<"$output") == detached ]]
}

@test "release --detach of a running program: its memory stays charged until freed" {
  holder 1 8G 4GiB
  pid=$(field 1 pid)
  run berth release --detach 1
  status_is 0
  contains "lease 1 ($(id -un)/holder-1) has ended; its programs run on"
  contains "berth release --kill 1 ends them"
  [[ $(state_of 1) == releasing ]]
  kill -0 "$pid"
  # 15.5 GiB could be granted without it, and it uses a little above 4.
  grantable=$(berth status --json | jq .devices[0].vram_grantable_bytes)
  ((grantable > (11 << 30) && grantable < (1150 << 20) * 10))
  kill "$pid"
  eventually has_state 1 ended
  [[ $(berth status --json | jq .devices[0].vram_grantable_bytes) == $((15872 << 20)) ]]
}

@test "release --kill ends the programs and returns when the lease has ended" {
  holder 1 8G 1GiB
  pid=$(field 1 pid)
  run berth release --kill 1
  status_is 0
  [[ $(state_of 1) == ended ]]
  has_ended "$pid"
}

@test "what is released with --kill was released before" {
  holder 1 8G 1GiB
  berth release --detach 1
  run berth release --kill 1
  status_is 0
  [[ $(state_of 1) == ended ]]
}

@test "what is cancelled was released before: its programs are told to end" {
  holder 1 8G 1GiB
  pid=$(field 1 pid)
  berth release --detach 1
  run timeout 20 berth cancel 1
  status_is 0
  [[ $(state_of 1) == ended ]]
  has_ended "$pid"
  berth history --events --json | jq -e '[.items[].verb] == ["grant", "detach", "cancel", "end"]'
}

@test "release of a reservation frees it at once" {
  eval "$(berth reserve 1h -m 8G --export 2>/dev/null)"
  [[ $(state_of 1) == held ]]
  run berth release 1
  status_is 0
  contains "has ended"
  [[ $(state_of 1) == ended ]]
}

@test "dry runs say what would be done, and do nothing" {
  holder 1 8G 1GiB
  berth run -m 12G -- true >/dev/null 2>&1 3>&- &
  eventually has_state 2 waiting
  run berth release 1 --dry-run
  status_is 0
  contains "would not release 1"
  run berth release 1 --detach --dry-run
  contains "would release 1 ($(id -un)/holder-1): 8.0 GiB on GPU 0; its programs would run on"
  run berth release 1 --kill --dry-run
  contains "its programs would be ended"
  run berth cancel 1..2 --dry-run
  status_is 0
  contains "would end the programs of 1"
  contains "would take 2"
  run berth resize 1 -m 4G --dry-run
  contains "would resize 1 ($(id -un)/holder-1) from 8.0 GiB to 4.0 GiB on each GPU"
  [[ $(state_of 1) == held && $(state_of 2) == waiting ]]
  [[ $(field 1 vram_granted_bytes) == $((8 << 30)) ]]
}

@test "cancel takes a request out of the queue" {
  holder 1 12G 1GiB
  berth run -m 12G -- true >"$world/2" 2>&1 3>&- &
  waiting=$!
  eventually has_state 2 waiting
  run berth cancel 2
  status_is 0
  contains "lease 2 ($(id -un)) has ended (cancelled)"
  wait "$waiting" && ended=0 || ended=$?
  ((ended != 0))
}

@test "cancel ends the command of a lease, with SIGKILL if it must" {
  berth run -m 1G -- bash -c 'trap "" TERM; echo here; while :; do sleep 0.1; done' \
    >"$world/1" 2>&1 3>&- &
  eventually grep -q here "$world/1"
  start=$SECONDS
  run berth cancel 1
  status_is 0
  [[ $(state_of 1) == ended && $(field 1 result) == cancelled ]]
  ((SECONDS - start >= 9))
}

@test "cancel of many goes on after one that failed, and ends with the first failure" {
  run berth run -m 1G -- true
  holder 2 1G 256MiB
  run berth cancel 1 2
  status_is 1
  [[ $(state_of 2) == ended ]]
}

@test "resize down holds at once" {
  holder 1 8G 1GiB
  run berth resize 1 -m 4G
  status_is 0
  contains "has 4.0 GiB on GPU 0"
  [[ $(field 1 vram_granted_bytes) == $((4 << 30)) ]]
}

@test "resize below what is used: over_budget, and the use stays charged" {
  holder 1 8G 4GiB
  run berth resize 1 -m 2G
  status_is 0
  contains "what is above its budget stays charged until it is freed"
  eventually over_budget
  grantable=$(berth status --json | jq .devices[0].vram_grantable_bytes)
  ((grantable < (1160 << 20) * 10))
}
over_budget() { [[ $(field 1 'flags[0]') == over_budget ]]; }

@test "resize up is granted now, or 75 with what is missing" {
  holder 1 4G 1GiB
  run berth resize 1 -m 8G
  status_is 0
  [[ $(field 1 vram_granted_bytes) == $((8 << 30)) ]]
  holder 2 6G 1GiB
  run berth resize 1 -m 12G
  status_is 75
  contains "GiB"
  [[ $(field 1 vram_granted_bytes) == $((8 << 30)) ]]
}

@test "resize up waits with --wait, and is granted when another ends" {
  holder 1 8G 1GiB
  holder 2 6G 1GiB
  berth resize 1 -m 12G --wait=30s >"$world/resized" 2>&1 3>&- &
  resizing=$!
  run berth resize 1 -m 13G --wait=200ms
  status_is 75
  berth resize 1 -m 12G --wait=30s >"$world/resized" 2>&1 3>&- &
  resizing=$!
  berth cancel 2
  wait "$resizing"
  [[ $(field 1 vram_granted_bytes) == $((12 << 30)) ]]
}

@test "resize below one context, or to nothing at all, is 64" {
  holder 1 4G 1GiB
  run berth resize 1 -m 1M
  status_is 64
  contains "ask for at least"
  run berth resize 1
  status_is 64
  contains "say either how much (-m SIZE) or the whole GPU (-x)"
  run berth resize 1 -m 2G -x
  status_is 64
}

@test "resize -x: the GPU for itself, while no other lease is on it" {
  holder 1 4G 1GiB
  run berth resize 1 -x
  status_is 0
  [[ $(field 1 share) == exclusive ]]
  run berth resize 1 -m 4G
  status_is 0
  holder 2 4G 1GiB
  run berth resize 1 -x
  status_is 75
}

@test "what was done is told as JSON where that is asked for" {
  holder 1 4G 1GiB
  run --separate-stderr berth resize 1 -m 2G --json
  [[ $(jq .vram_granted_bytes <<<"$output") == $((2 << 30)) ]]
  run --separate-stderr berth cancel 1 --json
  [[ $(jq -r .state <<<"$output") == ended ]]
}

@test "a lease that is not there is 66, one that has ended cannot be changed" {
  for verb in release cancel "resize -m 1G"; do
    run berth $verb 99
    status_is 66
  done
  run berth run -m 1G -- true
  eventually state_is 1 ended # A sample comes first, which a busy machine makes late.
  run berth resize 1 -m 2G
  status_is 1
}
