#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One daemon for all users of a machine, and two of them that do not trust each other. It takes root
# to be three people; elsewhere these tests are skipped, and say so.
load lib
teardown() {
  [[ -n ${world-} ]] || return 0
  world_down
  # Root's own, and the system daemon's.
  rm -rf "/tmp/berth-0/sim/$BERTH_SIM_NAME" "/run/berth/sim/$BERTH_SIM_NAME"
}

setup() {
  ((EUID == 0)) || skip "this needs root, to act as two users"
  world_up
  # The build may lie where they cannot read.
  local build
  build=$(dirname "$(dirname "$(type -P berth)")")
  mkdir "$world/build" "$world/build/bin" "$world/all"
  cp "$build"/bin/{berth,berthd,berth-probe,berth-mover,berth-deliver} "$world/build/bin/"
  cp -r "$build/lib" "$world/build/"
  chmod 0711 "$world" "$world/home"
  chmod -R a+rX "$world/build" "$world/all"
  export PATH=$world/build/bin:$PATH BERTH_SOCKET=$world/all/berthd.sock
  # Its simulated device lies in a directory of root's own, as that of any user does.
  env -u BERTH_RUNTIME_DIR berthd --system --foreground --in-container --socket "$BERTH_SOCKET" \
    --state-dir "$world/state/all" 2>"$world/log" &
  eventually test -S "$BERTH_SOCKET" || cat "$world/log" >&2
}

# as UID COMMAND...: as that user, with a home of his own.
as() {
  local uid=$1 home=$world/home.$1
  shift
  mkdir -p "$home" && chown "$uid" "$home"
  env -C "$home" HOME="$home" XDG_STATE_HOME="$home" XDG_CONFIG_HOME="$home" XDG_CACHE_HOME="$home" \
    setpriv --reuid="$uid" --regid="$uid" --groups="${groups-$(stat -c %g "$BERTH_SOCKET")}" "$@"
}

# refused UID TEXT COMMAND...: he may not, and is told why.
refused() {
  local uid=$1 text=$2
  shift 2
  run --separate-stderr as "$uid" "$@"
  [[ $status == 77 ]] || {
    echo "$*: status $status: $output $stderr" >&2
    return 1
  }
  contains "$text"
}

@test "77: what is another user's is neither released, resized, renewed, revoked nor cancelled" {
  as 60001 berth reserve 10m -m 2G -n held
  as 60001 berth run -q -m 15G -n waits -- true 2>/dev/null &
  eventually eval 'berth queue | grep -q waits'
  for id in 1 2; do
    refused 60002 "lease $id belongs to another user" berth release --yes "$id"
    refused 60002 "lease $id belongs to another user" berth release --yes --kill "$id"
    refused 60002 "lease $id belongs to another user" berth cancel --yes "$id"
  done
  refused 60002 "lease 1 belongs to another user" berth resize --yes 1 -m 1G
  refused 60002 "lease 1 belongs to another user" berth renew 1 1h
  [[ $(as 60002 berth show 1 --json | jq -r '.state, .vram_granted_bytes') == held*2147483648 ]]
  [[ $(as 60002 berth show 2 --json | jq -r .state) == waiting ]]
}

@test "who holds it may end it, and so may root" {
  as 60001 berth reserve 10m -m 2G
  as 60001 berth reserve 10m -m 3G
  as 60001 berth release 1
  berth release --yes 2
  eventually eval '[[ $(berth ps --json | jq ".leases | length") == 0 ]]'
}

@test "another user's handle is not shown, and that there is a lease is" {
  as 60001 berth reserve 10m -m 2G -n held
  [[ $(as 60002 berth show held --json | jq -r '.handle, .name') == null*held ]]
  [[ $(as 60001 berth show held --json | jq -r .handle) == l_* ]]
}

@test "77: who is not in the group of the socket does not get in" {
  groups=60003 refused 60003 "only root and the members of its group may" berth status
}
