#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The journal cannot be written. A bound on the size of files stands for the full disk: for the
# daemon alone, which has its journal's space set aside already.
load lib

held() { [[ $(berth show "$1" --json | jq -r '.state + (.flags | join(","))') == held ]]; }
granted_to_kept_is() { [[ $(berth show kept --json | jq .vram_granted_bytes) == "$1" ]]; }
# fill and free: whether there is room.
fill() { prlimit --fsize=4096: --pid "$pid"; }
free() { prlimit --fsize=unlimited: --pid "$pid"; }

setup() {
  world_up
  # Else the first write beyond the bound would kill it.
  (trap '' XFSZ; exec berthd --foreground) >"$world/log" 2>&1 3>&- &
  eventually berth ps --no-autostart
  pid=$(berth daemon status --json | jq .pid)
  state=$(berth daemon status --json | jq -r .state_dir)
}

@test "no new grants, with 74 and the file's name; what runs goes on, and releases too" {
  berth run -q -m 4G -n kept -- sleep 1000 3>&- &
  eventually held kept
  job=$(berth show kept --json | jq .pid)
  berth reserve 1h -q -m 10G -n freed
  fill
  for words in "run -m 1G -- touch started" "run -m 1G --no-wait -- touch started" \
    "reserve 1h -m 1G" "resize kept -m 2G" "resize kept -m 8G"; do
    # shellcheck disable=SC2086
    run berth $words
    status_is 74
    contains "$state/leases.db cannot be written"
    contains "free some space there"
  done
  run berth release freed
  status_is 0
  eventually state_is freed ended
  # 15.5 GiB without the lease that is kept.
  all_but_kept() {
    [[ $(berth status --json | jq .devices[0].vram_grantable_bytes) == $((11776 << 20)) ]]
  }
  eventually all_but_kept
  run berth doctor
  status_is 1
  contains "df -h $state"
  held kept
  granted_to_kept_is $((4 << 30))
  kill -0 "$job"
  [[ ! -e started && $(berth daemon status --json | jq .pid) == "$pid" ]]

  free
  granted() { berth run -q -m 1G -- true; }
  eventually granted
  # What was released meanwhile is written now: the next daemon knows it.
  kill -9 "$pid"
  eventually held kept
  state_is freed ended
  granted_to_kept_is $((4 << 30))
  [[ $(berth show kept --json | jq .pid) == "$job" ]]
}

@test "what waits keeps its place, and is granted when there is room on the disk" {
  berth reserve 1h -q -m 10G -n holder
  berth run -q -m 8G -n first -- sh -c 'echo first >>order' 3>&- &
  eventually state_is first waiting
  berth run -q -m 8G -n second -- sh -c 'echo second >>order' 3>&- &
  eventually state_is second waiting
  fill
  berth release holder
  eventually state_is holder ended
  state_is first waiting
  [[ $(berth queue -q 2>/dev/null | xargs) == "2 3" && ! -e order ]]
  free
  both() { [[ -e order && $(xargs <order) == "first second" ]]; }
  eventually both
}

@test "the past is lost for as long as the disk is full, and is kept again" {
  berth reserve 1h -q -m 1G -n kept
  points() { berth history --step 1s --json | jq '.items | length'; }
  some() { [[ $(points) -gt 0 ]]; }
  eventually some
  fill
  # A question has it written.
  failed() { berth history >/dev/null 2>&1; grep -q 'no history is kept: .*history.db' "$world/log"; }
  eventually failed
  held kept
  free
  again() { berth history >/dev/null; grep -q 'history is kept again' "$world/log"; }
  eventually again
  some
  [[ $(grep -c 'no history is kept' "$world/log") == 1 ]]
}
