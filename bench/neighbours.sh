#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Time that one user waits for an answer while another one piles up requests, sends a body without
# end, does not read the answers, or has 600 connections that ask for long lists in turn.
# The other one is another user only for root: else both are the same, and no limit is set.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=1x16GiB
export BERTH_SIM_NAME=bench-$$
unset BERTH_SOCKET BERTH_LEASE_ID BERTH_CONFIG
trap 'berth daemon stop >/dev/null 2>&1 || true; rm -rf "$world"' EXIT

berth status >/dev/null 2>&1
export BERTH_SOCKET=$world/run/sim/$BERTH_SIM_NAME/berthd.sock
if ((EUID == 0)); then
  chmod 0711 "$world" "$world/run" "$world/run/sim" "$world/run/sim/$BERTH_SIM_NAME"
  chmod 0666 "$BERTH_SOCKET"
fi
pid=$(berth daemon status --json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
python3 bench/support/neighbours.py "$BERTH_SOCKET" "$pid"
