# SPDX-License-Identifier: Apache-2.0
# A fresh simulated world for each test of a bats file that says `load lib`: own home, runtime,
# state and configuration directories, one simulated GPU of 16 GiB ($sim says another), the programs
# of this build first in PATH, and the Python package. When the test ends, so do all processes that
# belong to its world.
bats_require_minimum_version 1.5.0 2>/dev/null || true
BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-180}

setup() { world_up; }
teardown() { world_down; }

world_up() {
  local build=${build_dir:-$(git rev-parse --show-toplevel)/build/release}
  unset "${!BERTH_@}" "${!XDG_@}" "${!CUDA_@}" "${!NVIDIA_@}" LD_PRELOAD NO_COLOR CLICOLOR_FORCE
  unset COLUMNS
  world=$(mktemp -d /tmp/bw.XXXXXX) # Short: the path of a socket has at most 108 characters.
  mkdir -m 0700 "$world/home" "$world/run" "$world/state" "$world/config"
  export HOME=$world/home XDG_STATE_HOME=$world/state XDG_CONFIG_HOME=$world/config
  export XDG_CACHE_HOME=$world/cache BERTH_RUNTIME_DIR=$world/run
  export BERTH_SIM=${sim:-1x16GiB} BERTH_SIM_NAME=${world##*.}
  export PATH=$build/bin:$PATH LC_ALL=C.UTF-8 TERM=xterm
  PYTHONPATH=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../python")
  export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
  # A preloaded library comes before the run-time of a sanitized program that a shell starts.
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0
  cd "$world/home" || return
}

# jq -e TEST: Debian's version 1.6 says of no input at all that it passes. Here it does not.
jq() {
  local output code=0
  [[ $1 == -e ]] || { command jq "$@"; return; }
  output=$(command jq "$@") || code=$?
  [[ -z $output ]] || printf '%s\n' "$output"
  [[ $code != 0 || -n $output ]] || { echo "jq: there is nothing to test" >&2; return 4; }
  return "$code"
}

# of LEASE FIELD: what `berth show` says of it, as jq names it; nothing where there is no such one.
of() { berth show "$1" --json 2>/dev/null | command jq -r ".$2"; }
# state_is LEASE STATE
state_is() { [[ $(of "$1" state) == "$2" ]]; }
# used [GPU]: bytes, by the last sample.
used() { berth status --json | jq ".devices[${1:-0}].vram_used_bytes"; }

# world_processes: the pids of the processes that have a directory of this world in their
# environment, as each has that was started in it. Those that called us are not among them.
world_processes() {
  local pid=$BASHPID ours=" " stat
  while ((pid > 1)); do
    ours+="$pid "
    stat=$(<"/proc/$pid/stat") || return
    read -r _ pid _ <<<"${stat##*) }" # After the name, which may hold anything: state, parent.
  done
  # With an environment of its own, so that it does not find itself.
  while IFS=/ read -r _ _ pid _; do
    [[ $ours == *" $pid "* ]] || echo "$pid"
  done < <(env -i "$(type -P grep)" -lszF "=$world/" /proc/[0-9]*/environ)
}

# world_down: ends what the test left running, and fails if a daemon has to be killed for it.
world_down() {
  local pid red=0
  [[ -n ${world-} ]] || return 0
  for pid in $(world_processes); do
    kill -TERM -- "$pid" 2>/dev/null && kill -CONT -- "$pid" 2>/dev/null || true
  done
  for pid in $(world_processes); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == berthd ]] || continue
    timeout 10 tail -s 0.05 --pid="$pid" -f /dev/null || {
      echo "the daemon (pid $pid) did not end within 10 s of SIGTERM" >&2
      red=1
    }
  done
  # One that forks while it is looked for is found in the next round.
  for _ in {1..100}; do
    local left=$(world_processes)
    [[ -n $left ]] || break
    for pid in $left; do
      kill -KILL -- "$pid" 2>/dev/null && timeout 5 tail -s 0.05 --pid="$pid" -f /dev/null
    done
  done
  cd / && rm -rf "$world"
  return "$red"
}

# eventually COMMAND...: waits until the command succeeds, 10 s ($patience) at most.
eventually() {
  local end=$((SECONDS + ${patience:-10}))
  until "$@"; do
    if ((SECONDS >= end)); then
      echo "not within ${patience:-10} s: $*" >&2
      return 1
    fi
    sleep 0.02
  done
}

# fails COMMAND…: it must. What a test says with `!` counts as its last command only.
fails() {
  if "$@"; then
    echo "did not fail: $*" >&2
    return 1
  fi
}

# contains TEXT: the last `run` wrote TEXT somewhere. It says what it found instead.
contains() {
  [[ $output$stderr == *"$1"* ]] || {
    printf 'wanted: %s\nfound:  %s\n' "$1" "$output${stderr:+ | stderr: $stderr}" >&2
    return 1
  }
}

# status_is CODE: of the last `run`.
status_is() {
  [[ $status == "$1" ]] || {
    printf 'wanted: status %s\nfound:  status %s: %s\n' "$1" "$status" \
      "$output${stderr:+ | stderr: $stderr}" >&2
    return 1
  }
}

# berth_is_sanitized [a|t]: it was built with a sanitizer (that of addresses, of threads), and does
# not start with any library before it.
berth_is_sanitized() { [[ $(ldd "$(type -P berth)") =~ lib[${1:-at}]san ]]; }
