#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Inside a container: a daemon of its own, or that of the host from another PID namespace.
load lib

# Without a simulated GPU, since that is the same everywhere; what drivers there are plays no part.
in_container() { env -u BERTH_SIM -u BERTH_SIM_NAME container=test "$@"; }

# elsewhere COMMAND...: in a PID namespace of its own, as a container without --pid=host.
elsewhere() { unshare --pid --fork --mount-proc -- "$@"; }
needs_namespaces() {
  unshare --pid --fork --mount-proc true 2>/dev/null || skip "may not make PID namespaces here"
}

@test "the first command in a container starts a daemon, and says what it cannot see" {
  run --separate-stderr in_container berth daemon
  ((status == 64)) # No action: nothing was started.
  run --separate-stderr in_container berth run -m 1G -- true # No driver, or no GPU that is free.
  [[ $stderr == *"started the daemon"*"this is a container"*"/run/berth"* ]]
  run --separate-stderr in_container berth ps
  ((status == 0))
  [[ $stderr != *container* ]]
  grep -q "this is a container" "$BERTH_RUNTIME_DIR"/*log "$XDG_STATE_HOME"/berth/*/*log
  in_container berth daemon stop
}

@test "a configuration may refuse that" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[daemon]\nin_container = false\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  run in_container berth ps
  ((status == 69))
  [[ $output == *"in_container is false"*"/run/berth"* ]]
}

@test "another PID namespace reads, and is told why it starts nothing" {
  needs_namespaces
  berth reserve 1h -m 2G -n mine
  for verb in "" status ps queue "show mine" "why mine" "fit 2G" history; do
    # shellcheck disable=SC2086 # a verb and its arguments
    elsewhere berth $verb >"$world/said"
  done
  run elsewhere berth run -m 1G -- true
  ((status == 77))
  [[ $output == *"PID namespace"*"--pid=host"* ]]
  elsewhere berth cancel mine
  eventually state_is mine ended
}
