# SPDX-License-Identifier: Apache-2.0
# A sweep of sixty trainings that are long enough to learn something: see sweep.bash.
BATS_TEST_TIMEOUT=560 # Before it is loaded: lib.bash has less.
load sweep

steps=400 columns=64 within=500

@test "a sweep of sixty real trainings outlives the same" {
  sweep_outlives_all
  local member
  for member in out/1e-3-*; do
    jq -es 'last.summary | .steps == 400 and .loss < 3' "$member/metrics.ndjson"
  done
}
