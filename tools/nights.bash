# SPDX-License-Identifier: Apache-2.0
# A night is longer than one sitting: each stage that ends leaves a line in a file that is
# committed, and counts until something that it covers is changed. Sourced by ./dev.

nights=docs/measurements/nights.ndjson

code="CMakeLists.txt CMakePresets.json cmake dev include simgpu src web/page"
tested="$code examples fuzz integrations python share"
# Patches are read by the stage that applies them, and by those that cover all of the tree.
test_files="tests :!tests/mutants"
programs="$tested $test_files"
# The tests of documents run what stands in them.
documents="ARCHITECTURE.md README.md docs"
# What each stage covers, as paths of git, and each part of it (mutants_2); a stage that is not
# named here: all of the tree.
declare -A covers=(
  [adversary]="$programs"
  [others]="$code integrations share tests/cli/lib.bash tests/programs_of_others"
  [mcp_clients]="$code share tests/mcp_clients tests/cli/lib.bash tests/programs"
  [page]="$code web share"
  [site]="$documents CHANGELOG.md CONTRIBUTING.md STYLE.md dev site tools"
  [systemd]="$code integrations share tests/cli/lib.bash tests/systemd"
  [neighbours]="$code bench"
  [clang]="$code fuzz $test_files"
  [asan]="$programs $documents"
  [tsan]="$programs $documents"
  [bare_gpu]="$code tests/gpu tests/programs tools"
  [sim]="$code"
  [week]="$code"
  [mutants]="$tested tests"
  [chaos]="$code tests/chaos tests/programs"
  [look]="$code tests/chaos tests/programs web"
  [fuzz]="$code fuzz"
  [train]="$code python $test_files docs/training.md"
  [train_asan]="$code $test_files"
  [gpu]="$code tests/gpu tests/programs tools"
)

# What no stage reads.
uncovered=(":!$nights" ":!docs/measurements/seeds.ndjson")

# keep_stage NAME SECONDS VERDICT PASSED FAILED: appends the line; only where the tree is a commit.
keep_stage() {
  [[ -z $(git status --porcelain -- . ":!$nights") ]] || {
    say "$1 is not kept in $nights: there are uncommitted changes"
    return 0
  }
  printf '{"stage":"%s","verdict":"%s","seconds":%d,"tests_passed":%d,"tests_failed":%d,' \
    "$1" "$3" "$2" "$4" "$5" >>"$nights"
  printf '"commit":"%s","date":"%s","cores":%d}\n' "$(git rev-parse HEAD)" \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(nproc)" >>"$nights"
}

# green_commit STAGE: where it passed last.
green_commit() {
  [[ -f $nights ]] || return 0
  sed -n "s/^{\"stage\":\"$1\",\"verdict\":\"passed\".*\"commit\":\"\([0-9a-f]*\)\".*/\1/p" \
    "$nights" | tail -n 1
}

# due_stages STAGE...: says of each whether it has to be run, and why; ends with 1 if one has.
due_stages() {
  local name paths commit changed code=0
  for name in "$@"; do
    commit=$(green_commit "$name")
    paths=${covers[${name%_[0-9]}]:-.}
    # shellcheck disable=SC2086 # the paths are split at blanks on purpose
    if [[ -z $commit ]]; then
      echo "$name: due: never passed"
      code=1
    elif ! changed=$(git diff --name-only "$commit" -- $paths "${uncovered[@]}"); then
      echo "$name: due: passed at $commit, which is not in this history"
      code=1
    elif [[ -n $changed ]]; then
      echo "$name: due: passed at ${commit:0:7}; $(wc -l <<<"$changed") files changed since"
      code=1
    else
      echo "$name: passed at ${commit:0:7}"
    fi
  done
  return "$code"
}
