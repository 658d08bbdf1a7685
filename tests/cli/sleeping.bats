#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# GPUs that power management has suspended: BERTH_SIM_SYSFS stands for /sys.
load lib

setup() {
  world_up
  export BERTH_SIM_SYSFS=$world/sys
}
# gpu_is STATUS: what power management says of the GPU.
gpu_is() {
  local power=$BERTH_SIM_SYSFS/bus/pci/devices/0000:01:00.0/power
  mkdir -p "$power" && echo "$1" >"$power/runtime_status"
}
device() { berth status --json | jq -e ".devices[0] | $1" >/dev/null; }

@test "a GPU that sleeps is not asked, and its figures are unknown" {
  berth daemon start
  eventually device '.vram_used_bytes == 0'
  gpu_is suspended
  berth-simctl lose 0 # A question about it shows this.
  eventually device '.asleep and .vram_used_bytes == null and .vram_unmanaged_bytes == null'
  device '.lost == false and .vram_total_bytes == 17179869184'
  run berth status
  status_is 0
  contains asleep
  berth-simctl find 0
  gpu_is active
  eventually device '.asleep == false and .vram_used_bytes == 0'
}

@test "what sleeps is granted, and free at once when its lease has ended" {
  berth daemon start
  eventually device '.vram_used_bytes == 0'
  gpu_is suspended
  eventually device .asleep
  berth run -q -x -- true
  [[ $(berth show 1 --json | jq -r .state) == ended ]]
  berth run -q -x --no-wait -- true
}

@test "of the time in which a GPU slept nothing is known" {
  berth run -q -m 4G -- sleep 1000 3>&- &
  used() { berth history --step 1s --json | jq '[.items[] | select(.figure == "used")] | length'; }
  known() { [[ $(used) -gt 0 ]]; }
  eventually known
  gpu_is suspended
  eventually device .asleep
  before=$(used)
  later=$(berth status --json | jq -r .time)
  granted() {
    berth history --since "$later" --of lease --step 1s --json |
      jq -e '[.items[] | select(.figure == "granted")] | length > 2' >/dev/null
  }
  eventually granted
  [[ $(used) == "$before" ]]
}
