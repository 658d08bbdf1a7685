#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Rules of the daemon of all users, which root writes below /etc: here below one that is only seen
# inside of the test. It takes root; elsewhere these tests are skipped, and say so.
load lib

setup() {
  ((EUID == 0)) || skip "this needs root, to act as two users"
  # Here, since `run` would take the end of a skip for that of a command.
  unshare -m --propagation private true 2>/dev/null || skip "no mount namespace can be made here"
  world_up
  local build
  build=$(dirname "$(dirname "$(type -P berth)")")
  mkdir "$world/build" "$world/build/bin" "$world/all" "$world/etc"
  cp "$build"/bin/{berth,berthd,berth-probe,berth-mover,berth-deliver} "$world/build/bin/"
  cp -r "$build/lib" "$world/build/"
  chmod 0711 "$world" "$world/home"
  chmod -R a+rX "$world/build" "$world/all"
  export PATH=$world/build/bin:$PATH BERTH_SOCKET=$world/all/berthd.sock world
}
teardown() {
  [[ -n ${world-} ]] || return 0
  world_down
  rm -rf "/run/berth/sim/$BERTH_SIM_NAME"
}

# on_machine COMMANDS: as root, where /etc is a copy without /etc/berth, and the daemon runs as user
# berth, 60000; `as UID COMMAND...` as another one.
on_machine() {
  cat >"$world/script" <<'SCRIPT'
set -euo pipefail
mount -t tmpfs none "$world/etc"
mkdir "$world/etc/upper" "$world/etc/work"
mount -t overlay none -o "lowerdir=/etc,upperdir=$world/etc/upper,workdir=$world/etc/work" /etc
rm -rf /etc/berth
sed -i '/^berth:/d' /etc/passwd /etc/group
echo 'berth:x:60000:60000::/:/bin/false' >>/etc/passwd
echo 'berth:x:60000:' >>/etc/group
as() {
  local uid=$1 home=$world/home.$1
  shift
  mkdir -p "$home" && chown "$uid" "$home"
  env -C "$home" HOME="$home" XDG_STATE_HOME="$home" XDG_CONFIG_HOME="$home" XDG_CACHE_HOME="$home" \
    setpriv --reuid="$uid" --regid="$uid" --groups=60000 "$@"
}
mkdir -p "/run/berth/sim" && mkdir -m 0755 "/run/berth/sim/$BERTH_SIM_NAME"
mkdir -m 0700 "$world/state/all"
chmod 0711 "$world/state"
chown 60000:60000 "$world/all" "$world/state/all" "/run/berth/sim/$BERTH_SIM_NAME"
unset BERTH_RUNTIME_DIR
as 60000 berthd --system --foreground --in-container --socket "$BERTH_SOCKET" \
  --state-dir "$world/state/all" >"$world/log" 2>&1 3>&- &
for _ in {1..500}; do [[ -S $BERTH_SOCKET ]] && break; sleep 0.02; done
SCRIPT
  printf '%s\n' "trap 'berth daemon stop >/dev/null; wait' EXIT" "$1" >>"$world/script"
  unshare -m --propagation private bash "$world/script"
}

@test "what root adds can be read by the daemon and by all users, but for the URL" {
  run on_machine '
    (umask 077 && berth alert add lease.ended -n a1)
    stat -c "%a %n" /etc/berth /etc/berth/conf.d /etc/berth/conf.d/alerts.toml
    echo "https://hooks.example.org/T0/TOKEN" | berth alert add gpu.lost -n a2 --webhook -
    stat -c "%a %u %n" /etc/berth/webhooks/a2.url
    as 60001 berth alert list
    as 60001 berth config show
    as 60001 grep -r TOKEN /etc/berth && echo leaked
    as 60000 cat /etc/berth/webhooks/a2.url
    berth alert rm a2
    [[ ! -e /etc/berth/webhooks/a2.url ]] && echo gone
  '
  [[ $output != *"mount:"* ]] || skip "/etc cannot be replaced here: $output"
  status_is 0
  contains "755 /etc/berth"
  contains "755 /etc/berth/conf.d"
  contains "644 /etc/berth/conf.d/alerts.toml"
  contains "600 60000 /etc/berth/webhooks/a2.url"
  contains "/etc/berth/webhooks/a2.url"
  contains "gone"
  [[ $output != *leaked* ]]
  [[ $(grep -c TOKEN <<<"$output") == 1 ]] # Read as the daemon's user.
}

@test "config show has the path of a webhook for root, and of their own for others" {
  run on_machine '
    (umask 022 && mkdir -p /etc/berth)
    printf "[alert.a3]\nwhen = \"gpu.lost\"\nwebhook = \"https://hooks.example.org/T0/TOKEN\"\n" \
      >/etc/berth/berth.toml
    as 60001 mkdir -p "$world/home.60001/berth"
    printf "[alert.own]\nwhen = \"gpu.lost\"\nwebhook = \"https://own.example.org/T1/MINE\"\n" |
      as 60001 tee "$world/home.60001/berth/config.toml" >/dev/null
    echo "theirs:" $(as 60001 berth config show | grep "webhook " | tr -s " ")
    echo "root:" $(berth config show | grep "webhook " | tr -s " ")
  '
  [[ $output != *"mount:"* ]] || skip "/etc cannot be replaced here: $output"
  status_is 0
  contains 'theirs: alert.a3.webhook = "https://hooks.example.org/..."'
  contains "https://own.example.org/T1/MINE"
  contains 'root: alert.a3.webhook = "https://hooks.example.org/T0/TOKEN"'
}

@test "a folder that root has closed is named with its cure" {
  run on_machine '
    mkdir -m 0700 /etc/berth
    as 60001 berth ps || echo "status $?"
  '
  [[ $output != *"mount:"* ]] || skip "/etc cannot be replaced here: $output"
  contains "the directory /etc/berth is closed to this user: as root, chmod a+rx"
  contains "status 78"
}

@test "73: a state directory that another user prepared is not believed" {
  run on_machine '
    mkdir -m 1777 "$world/shared"
    start() { BERTH_RUNTIME_DIR=$world/run berthd --system --foreground --in-container --socket "$world/own.sock" \
      --state-dir "$world/shared/berth" || echo "status $?"; }
    as 60001 mkdir -m 0777 "$world/shared/berth"
    as 60001 ln -s /etc/hostname "$world/shared/berth/history.db"
    start
    chown 0 "$world/shared/berth"
    start
    chmod 0700 "$world/shared/berth"
    chmod 0777 "$world/shared"
    start
  '
  [[ $output != *"mount:"* ]] || skip "/etc cannot be replaced here: $output"
  contains "belongs to user 60001"
  contains "shared/berth can be written by others"
  contains "/shared can be written by others: chmod"
  [[ $(grep -c "status 73" <<<"$output") == 3 ]]
}
