#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `replay`: how long tasks of a trace, or of the past, would have waited under each order.
sim=1x16GiB
load lib

trace() {
  echo num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time >tasks.csv
  printf '%s\n' "$@" >>tasks.csv
}

@test "replay tells how long each class waits under each order, without a daemon" {
  trace 1,1000,BE,0,3600,0 1,1000,BE,10,610,10 1,500,LS,20,80,20
  run --separate-stderr berth replay tasks.csv --gpus 1 --json
  status_is 0
  jq -es '.[0] | .schema == "berth/replay/v1" and .gpus == 1 and .eta == false and
    ([.items[] | select(.class == "all") | .order] == ["fifo", "priority", "fair", "value"]) and
    ([.items[] | select(.order == "fifo" and .class == "high") | .wait_mean_ms] == [4180000]) and
    ([.items[] | select(.order == "value" and .class == "high") | .wait_mean_ms] == [3580000]) and
    ([.items[] | select(.order == "value" and .class == "low") | .tasks] == [2]) and
    all(.items[] | select(.class == "all"); .memory_part > 0.9 and .tasks_per_hour > 2)' <<<"$output"
  run --separate-stderr berth replay tasks.csv --gpus 1 --policy value
  status_is 0
  contains "value  all"
  contains "of the memory granted"
  ! berth ps --no-autostart
}

@test "times that are told count only with --eta" {
  trace 1,1000,LS,0,100,0 1,1000,LS,10,36010,10 1,1000,LS,20,30,20
  local asked='.items[] | select(.class == "all") | .wait_mean_ms'
  [ "$(berth replay tasks.csv -g 1 --policy value --json | jq -e "$asked")" = 12056666 ]
  [ "$(berth replay tasks.csv -g 1 --policy value --eta --json | jq -e "$asked")" = 60000 ]
  [ "$(berth replay tasks.csv -g 1 --policy value --eta --no-eta --json | jq -e "$asked")" = 12056666 ]
}

@test "a GPU's memory, and shorter tasks" {
  trace 1,500,BE,0,1000,0 1,500,BE,0,1000,0 1,500,BE,0,1000,0 8,1000,BE,5,10,5
  run --separate-stderr berth replay tasks.csv -g 1 -m 80G --shorter 10 --policy fifo --json
  status_is 0
  jq -es '.[0] | .vram_bytes == 85899345920 and .shorter == 10 and
    (.items[0] | .refused == 1 and .tasks == 3 and .wait_p95_ms == 100000)' <<<"$output"
  run --separate-stderr berth replay tasks.csv -g 1 --policy fifo
  contains "1 fit on no such GPUs"
}

@test "what is wrong with a trace is said with its line" {
  trace 1,1000,BE,0,3600,0 1,lots,BE,0,3600,0
  run --separate-stderr berth replay tasks.csv
  status_is 65
  [[ $stderr == *"tasks.csv: line 3: gpu_milli 'lots' is no whole number from 0 to 1000"* ]]
  run --separate-stderr berth replay nothing.csv
  status_is 66
  [[ $stderr == *nothing.csv* ]]
  run --separate-stderr berth replay
  status_is 64
  [[ $stderr == *"name a TRACE, or say --history"* ]]
  run --separate-stderr berth replay tasks.csv --since 1h
  status_is 64
  run --separate-stderr berth replay tasks.csv --policy lifo
  status_is 64
  run --separate-stderr berth replay tasks.csv --gpus 0
  status_is 64
}

@test "one's own past is played again on the daemon's GPUs" {
  berth run -q -m 4G -- true
  berth run -q -m 6G -- true
  for _ in {1..40}; do
    berth history --sessions --json | jq -e '.items | length == 2' && break
    sleep 0.5
  done
  run --separate-stderr berth replay --history --policy fifo --policy value --json
  status_is 0
  jq -es '.[0] | .source == "history" and .gpus == 1 and .vram_bytes == 17179869184 and
    ([.items[] | select(.class == "all") | .tasks] == [2, 2])' <<<"$output"
}
