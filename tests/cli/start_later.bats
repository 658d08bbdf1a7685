#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth run --after`, `--after-ok`, `--after-fail` and `--at`: requests that start later.
load lib

setup() {
  world_up
  berth run -q -m 1G -n prep -- bash -c 'until [[ -e code ]]; do sleep 0.05; done; exit $(<code)' 3>&- &
  eventually state_is prep held
}
# later NAME OPTION...: a request in the background that writes a file of its name.
later() {
  local name=$1
  shift
  berth run -m 1G -n "$name" "$@" -- touch "$name" >"$name.said" 2>&1 3>&- &
}
ended_as() { [[ $(of "$1" result) == "$2" ]]; }

@test "it starts when the other has ended well, and where it failed is refused and told why" {
  later good --after-ok prep
  later bad --after-fail prep
  eventually state_is good waiting
  eventually state_is bad waiting
  run berth why good
  contains "it starts when 1 has ended well"
  run berth queue
  contains "starts after others"
  run berth show bad
  contains "1 has failed"
  echo 0 >code
  eventually test -e good
  eventually ended_as bad refused
  eventually grep -q "lease 1 ended well, so it never starts" bad.said
  [[ ! -e bad ]]
}

@test "any end will do, but none before it ran" {
  later second --after 1
  eventually state_is second waiting
  later third --after second
  eventually state_is third waiting
  berth cancel second
  eventually ended_as third refused
  later fourth --after prep
  eventually state_is fourth waiting
  echo 3 >code
  eventually test -e fourth
}

@test "after a failure" {
  later cleanup --after-fail prep
  eventually state_is cleanup waiting
  echo 3 >code
  eventually test -e cleanup
  run berth run -m 1G --after-ok prep -- true
  contains "lease 1 ended otherwise than well (failed), so it would never start"
  [[ $status != 0 ]]
}

@test "not before a time" {
  later soon --at 2s
  eventually state_is soon waiting
  run berth why soon
  contains "it starts at 20"
  eventually test -e soon
  (($(of soon waited_ms) >= 1000))
}

@test "what makes no sense is refused, and says what would" {
  run berth run -m 1G --at noon -- true
  status_is 64
  contains "'noon' is no time to start at: 90m (from now), 18:30"
  run berth run -m 1G --after 99 -- true
  status_is 66
  run berth run -m 1G --after 1..3 -- true
  status_is 64
  contains "is not one lease, but several"
  run berth run -m 1G --no-wait --after 1 -- true
  status_is 64
  contains "it is to start now or never, and after something else"
}
