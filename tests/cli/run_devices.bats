#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# berth run on a machine with two GPUs.
sim=2x16GiB
load lib

@test "-m is on each of several devices" {
  run --separate-stderr berth run -m 8G -g 2 -- sh -c 'echo $CUDA_VISIBLE_DEVICES; berth show --json $BERTH_LEASE'
  status_is 0
  [[ ${lines[0]} == 0,1 ]]
  [[ $stderr == *"granted GPU 0 and 1 (GPU (simulated)), 8.0 GiB on each, lease 1"* ]]
  lease=$(tail -n +2 <<<"$output")
  [[ $(jq .vram_granted_bytes <<<"$lease") == $((16 << 30)) ]]
  [[ $(jq -c '[.devices[].vram_granted_bytes]' <<<"$lease") == "[$((8 << 30)),$((8 << 30))]" ]]
}

@test "an index names the device" {
  run berth run -q -m 8G -g 1, -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
  [[ $output == 1 ]]
  run berth run -q -m 8G -g 1,0 -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
  [[ $output == 0,1 ]]
}

@test "a preset CUDA_VISIBLE_DEVICES leaves out devices of the lease" {
  CUDA_VISIBLE_DEVICES=1,7 run --separate-stderr berth run -m 1G -g 2 -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
  status_is 0
  [[ $output == 1 && $stderr == *"the command sees GPU 1"* ]]
}
