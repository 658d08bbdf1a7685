#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `fit`: 0 fits now, 75 does not, and when; never a place in the queue.
sim=2x16GiB
load lib


@test "0 where it fits, with the GPU" {
  run --separate-stderr berth fit 8G
  status_is 0
  [[ $output == "It fits now on GPU 0. (the GPU is simulated)" ]]
  run --separate-stderr berth fit 8G -g 2
  [[ $output == "It fits now on GPU 0 and 1. (the GPU is simulated)" ]]
  run --separate-stderr berth fit 8G --gpus 1,
  [[ $output == "It fits now on GPU 1. (the GPU is simulated)" ]]
  run --separate-stderr berth fit 8G --json
  jq -e '.schema == "berth/fit/v1" and .fits and (.devices | length) == 1 and
    .vram_largest_bytes == 16642998272 and .simulated' <<<"$output"
}

@test "75 where it does not, with when and how much would" {
  berth run -q -m 10G -g 0, --eta 30m -n first -- sleep 1000 3>&- &
  eventually state_is first held
  berth run -q -m 12G -g 1, -n second -- sleep 1000 3>&- &
  eventually state_is second held
  run --separate-stderr berth fit 8G
  status_is 75
  contains "It does not fit now."
  contains "GPU 0 can grant 5.5 GiB"
  contains "First chance: ~30 min."
  contains "The most that would be granted now: 5.5 GiB. (the GPU is simulated)"
  run --separate-stderr berth fit 8G -g 1,
  status_is 75
  contains "First chance: no end known."
  run --separate-stderr berth fit 8G --json
  status_is 75
  jq -e '.fits == false and .expected_start != null and .vram_largest_bytes == 5905580032' \
    <<<"$output"
  run --separate-stderr berth fit 8G -g 1, --json
  jq -e '.expected_start == null' <<<"$output"
}

@test "it asks for nothing: no lease, no place in the queue" {
  berth run -q -m 10G -g 0, -n holder -- sleep 1000 3>&- &
  eventually state_is holder held
  for _ in 1 2 3; do berth fit 15G -g 2 >/dev/null 2>&1 || true; done
  [[ $(berth ps -a -q) == 1 && -z $(berth queue -q) ]]
}

@test "what can never be is no matter of time" {
  run berth fit 100G
  status_is 64
  contains "100.0 GiB fits on no GPU here: the largest budget that can be granted is 15.5 GiB"
  run berth fit 1G -g 3
  status_is 64
  run berth fit 1G -g 7,
  status_is 69
  for wrong in 0 8 -1 -1G 1X "" 99999999999999999999G nan 1e3; do
    run berth fit -- "$wrong"
    status_is 64
    contains "SIZE: "
  done
  run berth fit
  status_is 64
  contains "SIZE is missing"
}

@test "run --dry-run says the same of a request with all its options" {
  berth run -q -m 10G -g 0, -n holder -- sleep 1000 3>&- &
  eventually state_is holder held
  run --separate-stderr berth run --dry-run -m 8G -- touch started
  status_is 0
  contains "It fits now on GPU 1."
  run --separate-stderr berth run --dry-run -m 8G -g 2 -- touch started
  status_is 75
  run --separate-stderr berth run --dry-run -x -g 0, -- touch started
  status_is 75
  [[ ! -e started && $(berth ps -a -q) == 1 ]]
}

@test "the size may be said as for run, once" {
  run berth fit -m 3G
  status_is 0
  run berth fit 3G -m 3G
  status_is 64
  contains "berth fit 8G"
  run berth fit
  status_is 64
  contains "berth fit 8G"
}
