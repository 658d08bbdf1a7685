# SPDX-License-Identifier: Apache-2.0
# Stages of `./dev ci` and `./dev night`: each is timed against its budget and ends in the table
# that finish_stages prints. Sourced by ./dev. A stage whose part does not exist is absent, which
# is not passed.

stage_rows=()
stages_passed=0 stages_failed=0 stages_absent=0
tests_passed=0 tests_failed=0
keep_going=false # night: go on after a red stage
only=""          # The names of the stages that are wanted; blank: all.

# stage NAME BUDGET_SECONDS COMMAND...: a stage is red if its command fails or takes more than one
# and a half times its budget.
stage() {
  local name=$1 budget=$2 begin=$SECONDS code=0 took verdict=passed
  shift 2
  [[ -z ${only// /} || $only == *" $name "* ]] || return 0
  printf '\n== %s (%d s at most)\n' "$name" $((budget * 3 / 2))
  # The command runs in this shell, where it adds to tests_passed; so set -e is off inside it, and
  # every function that is used as a stage ends in the command that decides, or returns early.
  "$@" || code=$?
  took=$((SECONDS - begin))
  if ((code != 0)); then
    verdict="FAILED ($code)"
  elif ((took > budget * 3 / 2)); then
    verdict="FAILED (too slow)"
  fi
  stage_rows+=("$(printf '%-12s %6d s of %5d s  %s' "$name" "$took" "$budget" "$verdict")")
  echo "== $name: $verdict, $took s"
  if [[ $verdict == passed ]]; then
    stages_passed=$((stages_passed + 1))
  else
    stages_failed=$((stages_failed + 1))
    $keep_going || finish_stages
  fi
}

# absent NAME WHY
absent() {
  stages_absent=$((stages_absent + 1))
  stage_rows+=("$(printf '%-12s %20s  absent: %s' "$1" "" "$2")")
  printf '\n== %s: absent: %s\n' "$1" "$2"
}

# finish_stages: the table, and the exit status of the whole.
finish_stages() {
  ((stages_passed + stages_failed > 0)) || fail 64 "no stage is called$only"
  printf '\n'
  printf '%s\n' "${stage_rows[@]}"
  # A red stage that ran no test counts as one failure, so that no red run ever reads "0 failed".
  ((stages_failed == 0 || tests_failed > 0)) || tests_failed=$stages_failed
  echo "$stages_passed stages passed, $stages_failed failed, $stages_absent absent; tests:"
  echo "$tests_passed passed, $tests_failed failed"
  ((stages_failed == 0)) || exit 1
  exit 0
}

# run_tests PRESET [CTEST-OPTION...]: ctest, its figures added to the sums of the stages.
run_tests() {
  local preset=$1 code=0 total=0 failed=0 log
  shift
  log=$(mktemp)
  # Most tests wait for other processes most of the time: two a core.
  ctest --preset "$preset" --parallel $((2 * $(nproc))) "$@" 2>&1 | tee "$log" || code=$?
  if [[ $(tail -n 200 "$log") =~ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
  fi
  rm -f "$log"
  tests_failed=$((tests_failed + failed))
  tests_passed=$((tests_passed + total - failed))
  return "$code"
}
