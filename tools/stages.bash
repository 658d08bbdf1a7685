# SPDX-License-Identifier: Apache-2.0
# Stages of `./dev check`, `./dev ci` and `./dev night`: each is timed against its budget and ends
# in the table that finish_stages prints. Sourced by ./dev. A stage whose part does not exist is
# absent, which is not passed.

stage_rows=()
stages_passed=0 stages_failed=0 stages_absent=0
tests_passed=0 tests_failed=0
keep_going=false # Go on after a red stage.
slack=150        # Percent of its budget that a stage may take before it is red.
latest=""        # Second of the whole until which stage_in_time lets a stage last; blank: for ever.
on_stage=""      # Is told of each stage that ends: name, seconds, verdict, tests passed and failed.
only=""          # The names of the stages that are wanted; blank: all.

# stage NAME BUDGET_SECONDS COMMAND...: a stage is red if its command fails or takes more than
# `slack` percent of its budget.
stage() {
  local name=$1 budget=$2 begin=$SECONDS code=0 took verdict=passed
  local passed=$tests_passed failed=$tests_failed
  shift 2
  is_wanted "$name" || return 0
  printf '\n== %s (%d s at most)\n' "$name" $((budget * slack / 100))
  # The command runs in this shell, where it adds to tests_passed; so set -e is off inside it, and
  # every function that is used as a stage ends in the command that decides, or returns early.
  "$@" || code=$?
  took=$((SECONDS - begin))
  if ((code != 0)); then
    verdict="FAILED ($code)"
  elif ((took > budget * slack / 100)); then
    verdict="FAILED (too slow)"
  fi
  stage_rows+=("$(printf '%-12s %6d s of %5d s  %s' "$name" "$took" "$budget" "$verdict")")
  echo "== $name: $verdict, $took s"
  [[ -z $on_stage ]] ||
    "$on_stage" "$name" "$took" "$verdict" $((tests_passed - passed)) $((tests_failed - failed))
  if [[ $verdict == passed ]]; then
    stages_passed=$((stages_passed + 1))
  else
    stages_failed=$((stages_failed + 1))
    $keep_going || finish_stages
  fi
}

# stage_in_time: as stage, but absent where it could last until after `latest` without being red.
stage_in_time() {
  local most=$(($2 * slack / 100))
  if [[ -n $latest ]] && ((SECONDS + most > latest)); then
    absent "$1" "it may take $most s, and $SECONDS of $latest s are over"
  else
    stage "$@"
  fi
}

is_wanted() { [[ -z ${only// /} || $only == *" $1 "* ]]; }

# absent NAME WHY
absent() {
  is_wanted "$1" || return 0
  stages_absent=$((stages_absent + 1))
  stage_rows+=("$(printf '%-12s %20s  absent: %s' "$1" "" "$2")")
  printf '\n== %s: absent: %s\n' "$1" "$2"
}

# stages_of FUNCTION: the names of its stages; none is run.
stages_of() (
  stage() { echo "$1"; }
  stage_in_time() { echo "$1"; }
  absent() { echo "$1"; }
  finish_stages() { :; }
  "$1"
)

# choose_stages FUNCTION [NAME...]: of its stages these, or all. One that it has not ends ./dev.
choose_stages() {
  local name names
  names=$(stages_of "$1" | tr '\n' ' ')
  shift
  for name in "$@"; do
    [[ " $names" == *" $name "* ]] || fail 64 "no stage is called '$name'; there are: ${names% }"
  done
  only=" $* "
}

# finish_stages: the table, and the exit status of the whole.
finish_stages() {
  printf '\n'
  printf '%s\n' "${stage_rows[@]}"
  # A red stage that ran no test counts as one failure, so that no red run ever reads "0 failed".
  ((stages_failed == 0 || tests_failed > 0)) || tests_failed=$stages_failed
  echo "$stages_passed stages passed, $stages_failed failed, $stages_absent absent; tests:"
  echo "$tests_passed passed, $tests_failed failed"
  ((stages_failed == 0)) || exit 1
  ((stages_passed > 0)) || exit 69
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

# run_node_tests COMMAND...: a command that runs Node.js's test runner, its figures added likewise.
run_node_tests() {
  local code=0 log
  log=$(mktemp)
  "$@" 2>&1 | tee "$log" || code=$?
  tests_passed=$((tests_passed + $(node_tests_that pass "$log")))
  tests_failed=$((tests_failed + $(node_tests_that fail "$log")))
  rm -f "$log"
  return "$code"
}
node_tests_that() {
  awk -v kind="$1" '$1 ~ /^(#|ℹ)$/ && $2 == kind { sum += $3 } END { print sum + 0 }' "$2"
}
