#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Grafana board against the types that Grafana publishes of dashboards, panels and their options
# (grafana/board.ts), by the TypeScript compiler. No Grafana runs here.

setup() {
  root=$(git -C "$BATS_TEST_DIRNAME" rev-parse --show-toplevel)
  board=$root/integrations/grafana/berth.json
  check=$BATS_TEST_DIRNAME/grafana/check
}

@test "the board is of the types that Grafana publishes" {
  "$check" "$board"
}

# refused WORDS CHANGE: the board with that change (of jq) is, for one reason, which has these words.
refused() {
  local words=$1 changed=$BATS_TEST_TMPDIR/changed.json
  jq "$2" "$board" >"$changed" || return
  run "$check" "$changed"
  ((status != 0)) && [[ $(grep -c '^literal.ts.*: error TS' <<<"$output") == 1 && $output == *"$words"* ]] ||
    { echo "$2: ends with $status: $output" >&2 && return 1; }
}
# panel TITLE CHANGE: refused's, of one panel.
panel() { echo "(.panels[] | select(.title == \"$1\")) |= ($2)"; }

@test "a value that Grafana does not know is refused" {
  refused '"relative"' "$(panel Used '.fieldConfig.defaults.thresholds = {mode: "relative", steps: []}')"
  refused '"rows"' "$(panel Daemon '.options.legend.displayMode = "rows"')"
  refused '"stacked"' "$(panel Daemon '.fieldConfig.defaults.custom.stacking.mode = "stacked"')"
  refused '"textmode"' "$(panel Used '.options.textmode = "auto"')"
  refused '"graph"' "$(panel Daemon '.type = "graph"')"
  refused "'7'" '.templating.list[1].refresh = 7'
}

@test "text where Grafana wants a number is refused" {
  refused "'string' is not assignable to type 'number'" "$(panel Used '.gridPos.w = "4"')"
}

@test "a board in which something is missing is refused" {
  refused "'expr'" "$(panel Used 'del(.targets[0].expr)')"
  refused "'cellOptions'" "$(panel Leases 'del(.fieldConfig.defaults.custom.cellOptions)')"
  refused "'schemaVersion'" 'del(.schemaVersion)'
}

@test "an override of a field that its panel does not have is refused" {
  local property='.fieldConfig.overrides[0].properties[1]'
  refused '"custom.fill"' "$(panel 'Memory: who has it' "$property.id = \"custom.fill\"")"
  refused "'string' is not assignable to type 'number'" "$(panel 'Memory: who has it' "$property.value = \"none\"")"
}
