#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# GET /v1/live of a running daemon: what a page hears.
load lib

# listen FILE: hears the stream until the test ends.
listen() {
  curl --silent --no-buffer --unix-socket "$(socket)" http://localhost/v1/live >"$1" &
}
socket() { berth daemon status --json | jq -r .socket; }
# data FILE EVENT: of each such event, one a line.
data() { grep -A1 "^event: $2\$" "$1" | sed -n 's/^data: //p'; }
has() { data "$1" "$2" | jq -se "$3" >/dev/null; }

@test "first comes all that there is, then what is different" {
  berth run -q -m 2G -n first -- vram_user --bytes 1GiB --hold forever &
  eventually state_is first held
  listen heard
  eventually has heard snapshot '.[0].status.leases | map(.name) == ["first"]'
  has heard snapshot '.[0].viewer | .may_act and .user != null'
  has heard snapshot '.[0].events | map(.verb) == ["grant"]'
  berth run -q -m 3G -n second -- vram_user --bytes 1GiB --hold forever &
  eventually has heard change 'map(.leases // []) | add | map(.name) | index("second")'
  fails has heard change 'map(.leases // []) | add | map(select(.name == "first")) | length > 1'
  berth release --kill second
  eventually has heard change 'map(.gone // []) | add | length == 1'
  has heard change 'map(.leases // []) | add | map(select(.state == "ended")) | map(.name) == ["second"]'
  # Each message follows on the one before.
  data heard change | jq -se 'map(.sequence) as $all | $all == [range($all[0]; $all[0] + ($all | length))]'
}

@test "a new daemon begins anew" {
  berth status
  listen before
  eventually has before snapshot 'length == 1'
  epoch=$(data before snapshot | jq -r .epoch)
  kill -KILL "$(berth daemon status --json | jq .pid)"
  eventually berth status
  listen after
  eventually has after snapshot 'length == 1'
  [[ $(data after snapshot | jq -r .epoch) != "$epoch" ]]
}
