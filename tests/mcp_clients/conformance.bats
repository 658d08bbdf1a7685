#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The protocol's official conformance suite, against our library with the tools that it asks for
# (tests/programs/mcp_fixture.cc).
load lib

setup() {
  world_up
  with_packages
  serve "$build_dir/bin/tests/mcp_fixture"
}

# conforms REVISION SCENARIOS: all that are scored pass, so many, and of the others just those fail
# that not_scored.txt lists.
conforms() {
  local revision=$1 scenarios=$2 suite=0
  tool @modelcontextprotocol/conformance server --url "$url" --requirements "$revision" \
    >"$world/suite" 2>&1 || suite=$?
  sed -n '/=== SUMMARY ===/,$p' "$world/suite" | tee "$world/summary"
  sed -nE 's/^  ([✓✗]) ([a-z0-9-]+) \(.*/\1 \2/p' "$world/summary" | sort >"$world/not_scored"
  sed -nE 's/^([✓✗]) ([a-z0-9-]+): .*/\1 \2/p' "$world/summary" | sort |
    comm -23 - "$world/not_scored" >"$world/scored"
  ((suite == 0))
  [[ $(grep -c '^✓' "$world/scored") == "$scenarios" ]]
  [[ $(grep -c '^✗' "$world/scored") == 0 ]]
  diff <(sed -n 's/^✗ //p' "$world/not_scored" | sort) \
    <(sed -n "s/^$revision \([a-z0-9-]*\) .*/\1/p" "$BATS_TEST_DIRNAME/not_scored.txt" | sort)
}

@test "all that revision 2026-07-28 requires" {
  conforms 2026-07-28 37
}

@test "all that revision 2025-11-25 requires" {
  conforms 2025-11-25 30
}
