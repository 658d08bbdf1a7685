#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Actions on leases, and their authors: `berth history --events`, and the log of the daemon.
load lib

me=$(id -un)
# told VERB: how often that was done, as the past has it.
told() { berth history --events --json | jq --arg verb "$1" '[.items[] | select(.verb == $verb)] | length'; }

@test "what is done to a lease is told with who did it, whose it was and why; also after a restart" {
  berth run -q -m 4G -n train -- sleep 1000 3>&- &
  eventually state_is train held
  berth pause train --mode freeze --reason "a demo" --for 1h
  berth resume train
  berth resize train -m 2G
  berth cancel train
  eventually state_is train ended
  berth daemon reload
  berth history --events --json | jq -e --arg me "$me" '.schema == "berth/audit/v1" and
    [.items[].verb] == ["grant", "pause", "resume", "resize", "cancel", "end", "reload"] and
    all(.items[0:6][]; .lease == 1 and .user == $me and .name == "train") and
    all(.items[1:5][]; .by == $me) and .items[0].by == null and
    .items[1].reason == "a demo, for 1h" and .items[3].reason == "2.0 GiB" and
    .items[5].reason == "cancelled" and .items[6].lease == null and .items[6].by == $me'
  kill -KILL "$(berth daemon status --json | jq .pid)"
  [[ $(told cancel) == 1 ]]
  run berth history --events
  status_is 0
  contains "a demo, for 1h"
  contains "7 events, in UTC"
}

@test "events are asked for by lease, user and time, and are a table for programs too" {
  berth run -q -m 1G -n one -- true
  berth run -q -m 1G -n two -- true
  berth history --events --lease 2 --json | jq -e '[.items[].verb] == ["grant", "end"] and
    all(.items[]; .lease == 2)'
  berth history --events --user "$me" --json | jq -e '.items | length == 4'
  berth history --events --user 4294967294 --json | jq -e '.items | length == 0'
  run berth history --events --user nobody-of-that-name
  status_is 66
  run berth history --events --since 2026-01-01 --until 2026-01-02
  contains "Nothing was done to any lease in that time."
  run --separate-stderr berth history --events -o csv --fields verb,lease --no-header
  [[ $(tr -d '\r' <<<"$output" | xargs) == "grant,1 end,1 grant,2 end,2" ]]
  for words in "--user me" "--events --sessions" "--events --of lease"; do
    # shellcheck disable=SC2086
    run berth history $words
    status_is 64
  done
}

@test "the log of the daemon names who did it" {
  berth run -q -m 1G -n train -- sleep 1000 3>&- &
  eventually state_is train held
  berth cancel train
  logged() { berth daemon logs 2>&1 | grep -q "cancel lease 1 ($me/train) by $me"; }
  eventually logged
  berth daemon logs 2>&1 | grep -q "grant lease 1 ($me/train): 1.0 GiB"
}

@test "a lease that made room is told with the lease that it was for, and whose that is" {
  berth run -q -m 12G -n idle --yield -- vram_user --bytes 4GiB --hold 600s >idle 2>&1 3>&- &
  eventually grep -q holding idle
  measured() { (($(berth show idle --json | jq '.devices[0].vram_used_bytes // 0') >= 4 << 30)); }
  eventually measured
  berth run -q -m 10G -n urgent -p urgent -- sleep 600 3>&- &
  eventually state_is urgent held
  berth history --events --json | jq -e --arg me "$me" '[.items[] | select(.verb == "preempt")] |
    length == 1 and .[0].lease == 1 and .[0].by == null and .[0].reason == "for lease 2 (\($me)/urgent)"'
  run berth history --events
  contains "for lease 2 ($me/urgent)"
  berth daemon logs 2>&1 | grep -q "preempt lease 1 ($me/idle): for lease 2 ($me/urgent)"
}
