# SPDX-License-Identifier: Apache-2.0
# Leases whose GPU memory goes to the host and comes back, on real processes.
load lib

state_is() { [[ $(berth show "$1" --json | field state) == "$2" ]]; }
field() { python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"; }
used() { berth status --json | python3 -c "
import json, sys
print(json.load(sys.stdin)['devices'][0]['vram_used_bytes'])"; }
gib=$((1 << 30))

# hold NAME BYTES TIME: a lease whose program writes a pattern, and checks it before it ends.
hold() {
  berth run -n "$1" -m 10G -- vram_user --bytes "$2" --hold "$3" --verify >"$1" 2>"$1.said" 3>&- &
  eventually grep -q holding "$1"
}

@test "pause gives a lease's memory to others and resume brings it back as it was" {
  hold first 8GiB 4s
  local first=$!
  run berth pause first
  status_is 0
  contains "is paused; its GPU memory is in host memory (berth resume 1)"
  state_is first suspended
  eventually grep -q "lease 1 is paused" first.said

  berth run -n second -m 12G -- vram_user --bytes 10GiB --hold 60s >second 2>&1 3>&- &
  eventually grep -q holding second
  berth resume first >resumed 2>&1 3>&- &
  local resumer=$!
  resuming() { berth show first --json | grep -q '"resuming"'; }
  eventually resuming
  berth cancel second
  wait "$resumer"
  wait "$first" # 0: its pattern was there.
  grep -q "lease 1 goes on" first.said
}

@test "a lease without a program that uses the GPU is not paused" {
  berth run -m 2G -- sleep 60 2>/dev/null 3>&- &
  eventually state_is 1 held
  run berth pause 1
  status_is 1
  contains "none of its processes uses the GPU"
  state_is 1 held
}

@test "a driver without checkpoint calls is named" {
  export BERTH_SIM=1x16GiB,cuda=12.0
  hold old 2GiB 60s
  run berth pause old
  status_is 1
  contains "cannot move memory to the host"
  state_is old held
}

@test "a paused lease survives its daemon, and is ended while it is away" {
  hold away 4GiB 60s
  berth pause away
  kill -KILL "$(berth daemon status --json | field pid)"
  eventually state_is away suspended
  (($(used) < gib))
  run berth cancel away
  status_is 0
  state_is away ended
}

@test "what was not paused is not resumed, and what is not yours is not paused" {
  hold it 1GiB 60s
  run berth resume it
  status_is 1
  contains "is not suspended"
  run berth pause nothing
  status_is 66
}

@test "a lease that yields makes room for an urgent one and comes back as it was; a third never notices" {
  berth run -n first --yield -m 9G -- vram_user --bytes 8GiB --hold 3s --verify >first 2>first.said 3>&- &
  local first=$!
  eventually grep -q holding first
  berth run -n third -m 3G -- vram_user --bytes 2GiB --hold 6s --verify >third 2>third.said 3>&- &
  local third=$!
  eventually grep -q holding third
  berth run -p urgent -m 10G -- vram_user --bytes 9GiB --hold 1s --verify
  wait "$first"
  wait "$third"
  grep -q "lease 1 is paused" first.said
  grep -q "lease 1 goes on" first.said
  ! grep -q "paused\|goes on" third.said
}
