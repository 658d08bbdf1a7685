# SPDX-License-Identifier: Apache-2.0
# Programs on a simulated GPU, each in namespaces of its own, without Berth: the simulated driver
# takes none of them for another or for dead, and names them as the outside does.
load lib

setup() {
  world_up
  driver="$(dirname "$(type -P berth)")/../lib/simgpu"
}

# alone OPTION...: a program in namespaces of its own, which holds 1300 MiB with its context.
alone() {
  LD_LIBRARY_PATH=$driver unshare --user --map-root-user "$@" -- \
    vram_user --bytes 1000MiB --hold 60s --verify
}
needs() {
  unshare --user --map-root-user "$@" -- true 2>/dev/null || skip "unshare $* is not allowed here"
}
listed() { berth-simctl show | command jq -r '.devices[0].processes[].pid'; }
used_mib() { berth-simctl show | command jq '.devices[0].used_bytes / 1048576'; }
uses() { [[ $(used_mib) == "$1" ]] || { used_mib >&2; false; }; }
# The pids of vram_user as this /proc has them, in order.
programs() {
  local pid
  for pid in $(world_processes); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) != vram_user ]] || echo "$pid"
  done | sort -n
}

@test "programs that are each number 1 are three programs, with their pids of outside" {
  needs --pid --fork --mount-proc
  for _ in 1 2 3; do alone --pid --fork --mount-proc --kill-child >>out 2>&1 3>&- & done
  eventually eval '(( $(grep -c holding out) == 3 ))'
  uses 3900
  [[ $(listed | sort -n) == "$(programs)" && $(programs | wc -l) == 3 ]]
  kill -KILL "$(programs | head -n 1)"
  eventually uses 2600
  [[ $(listed | sort -n) == "$(programs)" ]]
}

@test "a time namespace changes neither who is dead nor since when" {
  needs -T --boottime 100000
  alone -T --boottime 100000 >out 2>&1 3>&- &
  eventually grep -q holding out
  uses 1300
  [[ $(listed) == "$(programs)" ]]
  # One who looks from there marks the dead at an instant that holds for all.
  berth-simctl teardown 50ms
  kill -KILL "$(programs)"
  unshare --user --map-root-user -T --boottime 100000 -- "$(type -P berth-simctl)" show >there
  eventually uses 0
  berth-simctl events | command jq -se 'map(.time_ns) | . == sort'
  local now_s
  read -r now_s _ </proc/uptime
  berth-simctl events | command jq -se "all(.time_ns / 1000000000 < ${now_s%.*} + 60)"
}

@test "a lease in containers is suspended from outside by the pids that the driver lists" {
  needs --pid --fork --mount-proc
  berth run -q -n job -m 4G -- unshare --user --map-root-user --pid --fork --mount-proc --kill-child \
    vram_user --bytes 1000MiB --hold 60s --verify >out 2>&1 3>&- &
  eventually grep -q holding out
  eventually berth pause job
  uses 0
  berth resume job
  uses 1300
}
