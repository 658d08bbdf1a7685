# SPDX-License-Identifier: Apache-2.0
# Leases whose GPU memory goes to the host and comes back, on real processes.
load lib

gib=$((1 << 30))

# hold NAME BYTES TIME: a lease whose program writes a pattern, and checks it before it ends.
hold() {
  berth run -n "$1" -m 10G -- vram_user --bytes "$2" --hold "$3" --verify >"$1" 2>"$1.said" 3>&- &
  eventually grep -q holding "$1"
}

@test "pause gives a lease's memory to others and resume brings it back as it was" {
  hold first 8GiB 6s
  local first=$!
  run berth pause first --for 1h --reason "a demo"
  status_is 0
  contains "is paused; its GPU memory is in host memory, for ~60 min (berth resume 1)"
  state_is first suspended
  eventually grep -q "lease 1 is paused by you: a demo; its GPU memory is in host memory, and it goes on in ~" first.said
  [[ $(berth show first --json | jq -r .paused.by) == "$(id -un)" ]]

  berth run -n second -m 12G -- vram_user --bytes 10GiB --hold 60s >second 2>&1 3>&- &
  eventually grep -q holding second
  berth resume first >resumed 2>&1 3>&- &
  local resumer=$!
  resuming() { berth show first --json | grep -q '"resuming"'; }
  eventually resuming
  berth cancel second
  wait "$resumer"
  wait "$first" # 0: its pattern was there.
  grep -q "lease 1 has resumed" first.said
}

@test "a lease whose memory is away is under no pressure" {
  hold first 9GiB 60s
  pressed() { berth show first | grep -q "^ *pressure *\(warn\|critical\)"; }
  eventually pressed
  berth pause first
  run berth show first
  contains "suspended"
  fails grep -q pressure <<<"$output"
}

# Nobody counts its allocations: what left is measured when it can take no more.
@test "a whole GPU without the guard is paused and comes back beside a program that came meanwhile" {
  berth run -n first -x --enforce none -- vram_user --bytes 8GiB --hold 6s --verify >first 2>&1 3>&- &
  local first=$!
  eventually grep -q holding first
  berth pause first
  local simgpu
  simgpu=$(dirname "$(dirname "$(type -P berth)")")/lib/simgpu
  LD_LIBRARY_PATH=$simgpu vram_user --bytes 2GiB --hold 60s >unmanaged 2>&1 3>&- &
  local unmanaged=$!
  eventually grep -q holding unmanaged
  run berth resume first
  status_is 0
  wait "$first" # 0: its pattern was there.
  kill "$unmanaged"
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
  kill -KILL "$(berth daemon status --json | jq -r .pid)"
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
  grep -q "lease 1 is suspended for lease 3 (.*priority urgent)" first.said
  grep -q "lease 1 has resumed" first.said
  ! grep -q "suspended\|paused\|has resumed" third.said
}

# The state of each process of a lease's command, as /proc has it: T is stopped. One that has ended
# is not reaped by a parent that is stopped.
states() { for pid in $(pids "$1"); do sed 's/.*) //; s/ .*//' "/proc/$pid/stat"; done | grep -v Z | sort -u; }
pids() {
  local command=$(berth show "$1" --json | jq -r .pid)
  echo "$command" $(pgrep -P "$command")
}
states_are() { [[ $(states "$1") == "$2" ]]; }
runs() { [[ $(states "$1") == [SR]* ]]; }
flag_is() { berth show "$1" --json | grep -q "\"$2\""; }

@test "freeze stops all processes of a lease, frees no memory, and resume lets them go on" {
  cat >ticks.sh <<'SCRIPT'
vram_user --bytes 4GiB --hold 6s --verify & # It leaves our group, as a daemon would.
while kill -0 $! 2>/dev/null; do echo tick >>ticks; sleep 0.01; done
wait $!
SCRIPT
  berth run -n it -m 6G -- bash ticks.sh >it 2>it.said 3>&- &
  local it=$!
  eventually grep -q holding it
  run berth pause it --mode freeze
  status_is 0
  contains "lease 1 (root/it) is paused; its processes are stopped (berth resume 1)"
  eventually states_are it T
  eventually grep -q "is paused by you; its processes are stopped" it.said
  state_is it held
  flag_is it frozen
  kept() { (($(used) >= 4 * gib)); }
  eventually kept
  local before=$(wc -l <ticks)
  berth status >/dev/null
  [[ $(wc -l <ticks) == "$before" ]]
  run berth resume it
  status_is 0
  contains "has resumed"
  runs it
  wait "$it"
  (($(wc -l <ticks) > before))
}

@test "a frozen lease survives its daemon, and is let go on by the next one" {
  hold it 1GiB 6s
  local it=$!
  berth pause it --mode freeze
  kill -KILL "$(berth daemon status --json | jq -r .pid)"
  eventually flag_is it frozen
  eventually states_are it T
  berth resume it
  wait "$it"
}

@test "what is frozen is ended, and released nothing of it stays stopped" {
  hold first 1GiB 60s
  berth pause first --mode freeze
  run berth cancel first
  status_is 0
  state_is first ended
  hold second 1GiB 60s
  berth pause second --mode freeze
  local pid=$(berth show second --json | jq -r .pid)
  berth release --detach second
  goes_on() { [[ $(sed 's/.*) //; s/ .*//' "/proc/$pid/stat") == [SR] ]]; }
  eventually goes_on
  kill "$pid"
}

@test "frozen and then suspended it gives its memory, and one resume undoes both" {
  hold it 4GiB 6s
  local it=$!
  berth pause it --mode freeze
  berth pause it
  state_is it suspended
  flag_is it frozen
  eventually states_are it T
  (($(used) < gib))
  berth resume it
  wait "$it" # 0: its pattern was there.
}

@test "suspended and then frozen it is not in the way, and one resume undoes both" {
  hold it 4GiB 6s
  local it=$!
  berth pause it
  berth pause it --mode freeze
  eventually states_are it T
  berth resume it
  wait "$it"
}

@test "a job that was stopped by hand is suspended, comes back, and stays stopped" {
  hold it 4GiB 6s
  local it=$! pid=$(berth show it --json | jq -r .pid)
  kill -STOP "$pid"
  eventually states_are it T
  berth pause it
  state_is it suspended
  eventually states_are it T
  berth resume it
  state_is it held
  eventually states_are it T
  (($(used) >= 4 * gib))
  kill -CONT "$pid"
  wait "$it"
}

@test "mode checkpoint pauses what has saved itself, and nothing else" {
  cat >save.sh <<'SCRIPT'
trap 'echo saved >state.tmp; mv state.tmp state' USR1
vram_user --bytes 1GiB --hold 60s --verify & echo ready
while kill -0 $! 2>/dev/null; do wait $!; done
SCRIPT
  berth run -n it -m 2G --checkpoint signal:USR1,file=state -- bash save.sh >it 2>&1 3>&- &
  eventually grep -q holding it
  berth pause it --mode checkpoint
  grep -q saved state
  state_is it suspended
  berth cancel it
  berth run -n deaf -m 2G --checkpoint "cmd:exit 3" -- vram_user --bytes 1GiB --hold 60s >deaf 2>&1 3>&- &
  eventually grep -q holding deaf
  run berth pause deaf --mode checkpoint
  status_is 1
  contains "is not paused: it has not saved itself"
  state_is deaf held
  berth run -n plain -m 2G -- vram_user --bytes 1GiB --hold 60s >plain 2>&1 3>&- &
  eventually grep -q holding plain
  run berth pause plain --mode checkpoint
  status_is 1
  contains "was started without --checkpoint"
  run berth pause plain --mode hard
  status_is 64
}

@test "a pause for a time ends by itself, although the daemon is killed, and says why to all" {
  hold it 1GiB 60s
  run berth pause it --for 1ms --reason $'two\nlines'
  status_is 64
  contains "reason"
  run berth pause it --for 8s --reason "a demo"
  status_is 0
  contains "its GPU memory is in host memory, for ~"
  contains "(berth resume 1)"
  kill -KILL "$(berth daemon status --json | jq -r .pid)"
  run berth show it
  contains "  is paused by you since"
  contains ": a demo; it goes on in ~"
  run berth why it
  contains "is paused by you since"
  berth show it --json | jq -e '.paused.reason == "a demo" and .paused.until != null' >/dev/null
  patience=20 eventually state_is it held
  berth show it --json | jq -e '.paused == null' >/dev/null
  run berth pause it --mode freeze --for 2s
  status_is 0
  contains "its processes are stopped, for ~2 s"
  is_frozen() { berth show it --json | jq -e '.flags | index("frozen")' >/dev/null; }
  is_frozen
  is_free() { ! is_frozen; }
  eventually is_free
}
