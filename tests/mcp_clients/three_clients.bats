#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clients of the official SDKs, of both eras of the protocol, share a card.
load lib

setup() {
  world_up
  with_packages
}

@test "one trains, one asks and waits, one leaves a message and has the card after an agreed pause" {
  # Node.js looks for packages beside the file that imports them.
  cp "$BATS_TEST_DIRNAME/three_clients.mjs" "$packages/"
  run node "$packages/three_clients.mjs"
  echo "$output"
  status_is 0
  eventually no_lease_is_held
}

no_lease_is_held() { [[ $(berth ps --json | jq '.items | length') == 0 ]]; }
