#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What happens, as it happens.
load lib

# feed [OPTION]... [LEASE]: berth events in the background, its lines in $world/events.
feed() {
  berth events "$@" >"$world/events" 2>"$world/said" 3>&- &
  feed=$!
}
# listens N: so many streams are open; `berth run` has one, too.
listens() { [[ $(berth daemon status --json | command jq .counts.event_streams) == "$1" ]]; }
tells() { grep -qF -- "$1" "$world/events"; }

@test "events tell of requests, grants and ends of all leases" {
  berth status >"$world/status"
  feed
  eventually listens 1
  berth run -q -m 8G -n train -- true
  eventually tells "lease 1 (root/train) has 8.0 GiB on GPU 0"
  eventually tells "lease 1 (root/train) has ended: ok"
  berth run -q -m 12G -n long -- sleep 1000 3>&- &
  eventually state_is long held
  berth run -q -m 8G -n short -- true 3>&- &
  eventually tells "(root/short) waits for 8.0 GiB"
  berth cancel long
  eventually tells "(root/long) has ended: cancelled"
  kill -0 "$feed"
}

@test "events of one lease end with it" {
  berth run -q -m 8G -n train -- sleep 1000 3>&- &
  eventually state_is train held
  feed train
  eventually tells "lease 1 (root/train) is held"
  berth run -q -m 2G -n other -- true
  berth resize train -m 4G
  eventually tells "lease 1 (root/train) has 4.0 GiB now"
  berth cancel train
  wait "$feed"
  tells "has ended: cancelled"
  fails tells other
}

@test "for programs each event is an object in a line of its own" {
  berth status >"$world/status"
  feed --json
  eventually listens 1
  berth run -q -m 8G -n train -- true
  ended() { jq -s -e 'any(.[]; .event == "ended" and .data.name == "train")' "$world/events"; }
  eventually ended
  jq -s -e 'any(.[]; .event == "granted" and (.time | test("Z$")) and
    .data.vram_granted_bytes == 8589934592)' "$world/events"
  [[ $(wc -l <"$world/events") == $(jq -s length "$world/events") ]]
}

@test "events go on when the daemon is started again" {
  berth run -q -m 8G -n train -- sleep 1000 3>&- &
  eventually state_is train held
  feed
  eventually listens 2
  kill -KILL "$(berth daemon status --json | command jq .pid)"
  eventually grep -qF "waiting for it" "$world/said"
  berth status >"$world/status"
  eventually grep -qF "is there again" "$world/said"
  eventually listens 2
  berth cancel train
  eventually tells "has ended: cancelled"
}

@test "events of what is no lease, and in a form that has no lines, are refused" {
  berth reserve -q 60s -m 1G
  berth reserve -q 60s -m 1G
  run berth events 1..2
  status_is 64
  contains '"1..2" means 2 leases, and this is for one'
  run berth events nothing
  status_is 66
  run berth events --csv
  status_is 64
  contains "as lines for people, or as JSON"
}

@test "--since begins with what was done since then, and goes on with what is done" {
  berth run -q -m 8G -n early -- true
  eventually state_is early ended
  feed --json --since 1h
  told() { jq -s -e "any(.[]; .event == \"$1\" and .data.name == \"$2\")" "$world/events"; }
  eventually told audit early
  jq -s -e 'any(.[]; .event == "audit" and .data.verb == "grant" and (.time | test("Z$")))' "$world/events"
  berth run -q -m 8G -n late -- true
  eventually told ended late
  run berth events --since yesterday
  status_is 64
  contains "yesterday"
}
