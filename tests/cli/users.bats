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

# as UID COMMAND...: as that user, with a home of their own.
as() {
  local uid=$1 home=$world/home.$1
  shift
  mkdir -p "$home" && chown "$uid" "$home"
  env -C "$home" HOME="$home" XDG_STATE_HOME="$home" XDG_CONFIG_HOME="$home" XDG_CACHE_HOME="$home" \
    setpriv --reuid="$uid" --regid="$uid" --groups="${groups-$(stat -c %g "$BERTH_SOCKET")}" "$@"
}

# refused UID TEXT COMMAND...: they may not, and are told why.
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

@test "a name that leases of two users have means each one their own, and an admin none" {
  as 60001 berth reserve 10m -m 2G -n dup
  as 60002 berth reserve 10m -m 2G -n dup
  for verb in "cancel --yes" "release --yes" show "resize --yes -m 3G"; do
    # shellcheck disable=SC2086
    run berth $verb dup
    status_is 64
    contains "'dup' names several leases: 1, 2; say which number"
  done
  (($(berth ps -q | wc -l) == 2))
  as 60002 berth cancel --yes dup
  eventually eval '(($(berth ps -q | wc -l) == 1))'
  [[ $(berth show --json dup | jq .id) == 1 ]] # The other one's is over.
  refused 60002 "lease 1 belongs to another user" berth cancel --yes 1
}

@test "config show says what holds for the daemon that is asked" {
  [[ $(as 60001 berth config show | tr -s ' ' | grep '^limits.waiting') == "limits.waiting = 256" ]]
  as 60001 env BERTH_SOCKET="$world/nowhere.sock" berth config show | tr -s ' ' |
    grep -q '^limits.waiting = 20000'
}

@test "the user who holds it may end it, and so may root" {
  as 60001 berth reserve 10m -m 2G
  as 60001 berth reserve 10m -m 3G
  as 60001 berth release 1
  berth release --yes 2
  eventually eval '(($(berth ps -q | wc -l) == 0))'
}

@test "another user's handle is not shown, and that there is a lease is" {
  as 60001 berth reserve 10m -m 2G -n held
  [[ $(as 60002 berth show held --json | jq -r '.handle, .name') == null*held ]]
  [[ $(as 60001 berth show held --json | jq -r .handle) == l_* ]]
}

@test "77: who is not in the group of the socket does not get in" {
  groups=60003 refused 60003 "only root and the members of its group may" berth status
}

# become_root: sets root_sleeps, for a shell of a user: a program of root's, with the pid of what starts it.
become_root() {
  cp "$(type -P bash)" "$world/build/bin/rootsh"
  chmod 4755 "$world/build/bin/rootsh"
  as 60001 rootsh -pc '((EUID == 0))' || skip "no program can change its user here"
  root_sleeps='rootsh -pc "exec setpriv --reuid 0 --regid 0 --clear-groups -- sleep 1000"'
}
state_of() { awk '/^State:/ { print $2 }' "/proc/$1/status"; }
real_uid() { awk '/^Uid:/ { print $2 }' "/proc/$1/status"; }

@test "what is root's below a lease's command is neither stopped nor ended with it" {
  become_root
  as 60001 berth run -q -m 1G -n j -- bash -c "$root_sleeps & echo \$! >child; wait" 3>&- &
  eventually test -s "$world/home.60001/child"
  local child=$(<"$world/home.60001/child") command
  eventually eval '[[ $(real_uid "$child") == 0 ]]'
  command=$(as 60001 berth show j --json | jq .pid)
  run as 60001 berth pause --mode freeze j
  status_is 0
  contains "its processes are stopped; process $child of it is another user's and left alone"
  [[ $(as 60001 berth show j --json | jq -c .left_alone_pids) == "[$child]" ]]
  [[ $(state_of "$command") == T ]]
  [[ $(state_of "$child") == S ]]
  eventually grep -q "process $child of it belongs to another user" "$world/log"
  as 60001 berth resume j
  as 60001 berth cancel j
  [[ $(state_of "$child") == S ]]
  kill -KILL "$child"
}

@test "a command that became root's is left alone, and the client that asks is told" {
  become_root
  as 60001 berth run -q -m 1G -n x -- bash -c "exec $root_sleeps" 3>&- &
  eventually eval 'as 60001 berth show x --json | jq -e ".pid != null" >/dev/null'
  local command=$(as 60001 berth show x --json | jq .pid)
  eventually eval '[[ $(real_uid "$command") == 0 ]]'
  run as 60001 berth pause --mode freeze x
  status_is 1
  contains "process $command belongs to another user"
  [[ $(state_of "$command") == S ]]
  run as 60001 berth cancel x
  status_is 1
  contains "has not ended: its command is another user's by now; process $command of it is another user's and left alone"
  eventually grep -q "no signal 15: process $command belongs to uid 0, not to uid 60001" "$world/log"
  [[ $(state_of "$command") == S ]]
  kill -KILL "$command"
}

@test "a server that has a user's rights for a moment does not join their lease" {
  /usr/bin/python3 -c 'import os, time; os.setresuid(0, 60001, 0); time.sleep(1000)' 3>&- &
  local server=$! start
  effective_uid() { awk '/^Uid:/ { print $3 }' "/proc/$server/status"; }
  eventually eval '[[ $(effective_uid) == 60001 ]]'
  start=$(awk '{ print $22 }' "/proc/$server/stat")
  as 60001 berth reserve 10m -m 2G -n held
  local handle=$(as 60001 berth show held --json | jq -r .handle)
  as 60001 /usr/bin/python3 - "$BERTH_SOCKET" "$handle" "$server" "$start" >joined <<'PY'
import json, socket, sys
path, handle, pid, start = sys.argv[1:]
body = json.dumps({"pid": int(pid), "start_ticks": int(start)})
asked = socket.socket(socket.AF_UNIX)
asked.connect(path)
asked.sendall(f"POST /v1/leases/{handle}/join HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
              f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
print(asked.makefile().read())
PY
  grep -q '"wrong_process"' joined
  grep -q "has rights of several users (uid 0, effective 60001, saved 0)" joined
  kill -KILL "$server"
}

@test "the child that looks at processes cannot end any" {
  as 60001 berth status >/dev/null
  local probe daemon
  daemon=$(berth daemon status --json | jq .pid)
  probe=$(pgrep -P "$daemon" -x berth-probe)
  # CAP_KILL is bit 5.
  may_kill() { (($(awk '/^CapPrm:/ { print "0x" $2 }' "/proc/$1/status") >> 5 & 1)); }
  may_kill "$daemon"
  run may_kill "$probe"
  status_is 1
}
