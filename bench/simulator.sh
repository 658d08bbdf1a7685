#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Speed of the fault simulator on one core: coordinator, engine, records, checkers.
set -euo pipefail
told=$(berth-sim --seeds 1..200 --jobs 1 --quiet)
rate=$(sed -nE 's/^.* ([0-9]+) events\/s$/\1/p' <<<"$told")
printf '{"name":"fault simulator, one core","value":%s,"unit":"events/s","least":20000}\n' "$rate"
