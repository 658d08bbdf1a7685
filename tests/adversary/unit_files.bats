#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon where its unit lets it be: unit_files.py puts up the walls in the file system, as read
# from the unit, and says which of them it takes systemd to put up; under_unit.py those around calls.
load lib
ASAN_OPTIONS+=:detect_leaks=0 # It looks for them by ptrace(), which the unit forbids.

python=("$(PATH=/usr/local/bin:/usr/bin:/bin type -P python3)" -B)

# As installed: programs, state and what is between processes have the places that they have on a
# machine, and the simulated GPU is a device. What could be written by mistake is this test's own.
before_daemon() {
  walls "$units/berthd.service.in" "$world/violations" true ||
    { (($? == 77)) && skip "what puts up the walls of a unit is not here"; }
  own_etc
  cp "${BATS_TEST_FILENAME%/*}/unit_files.py" "$world/build/"
  chmod a+r "$world/build/unit_files.py"
  mkdir "$world/var"
  inside mount --bind "$world/build" /opt
  inside mount --bind "$world/var" /var/lib
  local place
  for place in /home /root /srv /dev/shm; do inside mount -t tmpfs none "$place"; done
  inside bash -c 'echo hers >/home/file; mkdir /dev/shm/gpu; umask 0; : >/dev/shm/violations'
  inside mount --bind "$world/gpu" /dev/shm/gpu
  export BERTH_SIM_DIR=/dev/shm/gpu BERTH_SOCKET=/run/berth/sim/$BERTH_SIM_NAME/berthd.sock
}

# behind UNIT COMMAND...: as root; a mount that it makes is seen by nobody else.
behind() {
  local unit=$1
  shift
  inside unshare --mount --propagation private "${python[@]}" /opt/unit_files.py "/opt/units/$unit" "$@"
}

daemon_up() {
  local rights words
  rights=$(walls "$units/berthd.service.in" --capabilities)
  words=$(sed -n 's|^ExecStart=@bindir@|/opt/bin|p' "$units/berthd.service.in")
  # shellcheck disable=SC2086
  (
    umask 077
    behind berthd.service.in setpriv --reuid berth --regid berth --clear-groups --inh-caps "$rights" \
      --ambient-caps "$rights" --bounding-set "$rights" --no-new-privs "${python[@]}" \
      /opt/under_unit.py /opt/units/berthd.service.in /dev/shm/violations $words --in-container
  ) 2>>"$world/log" 3>&- &
  eventually inside test -S "$BERTH_SOCKET" && eventually test -f "$world/gpu/gpu-world" || {
    cat "$world/log" >&2
    return 1
  }
  chmod 0666 "$world"/gpu/*
}

no_violations() { ! inside grep ^ /dev/shm/violations >&2; }

# there COMMAND...: as root, in the place where the daemon is.
there() {
  local pid
  for pid in $(world_processes); do
    [[ $(cat "/proc/$pid/comm") == berthd ]] && break
  done
  nsenter --target "$pid" --mount --root --wd=/ "$@"
}

@test "the daemon does its work where its unit lets it write, and remembers it" {
  as alice berth run -q -m 1G -n first -- vram_user --bytes 512MiB --quiet
  as alice berth reserve 10m -m 1G -n held
  as alice test -r "$(directory_of alice held)/limit"
  as bob berth run -q -m 1G -- bash -c 'berth checkpoint; exit 3' || (($? == 3))
  as alice berth history --sessions --json | grep -q first
  find "$world/var/berth" -name 'leases.db' -size +0 | grep -q .
  inside berth daemon stop
  eventually eval '! inside test -S "$BERTH_SOCKET"'
  daemon_up
  [[ $(as alice berth show held --json | command jq -r .state) == held ]]
  no_violations
}

# is_read_only COMMAND... PATH: not even root makes a file there by that command.
is_read_only() {
  run "$@"
  contains "Read-only file system"
  inside test ! -e "${@: -1}"
}

@test "nothing but that can be written there, by any user" {
  local path state=/var/lib/berth runtime=/run/berth
  # As root, whom no mode of a file keeps out, and only where a mistake would do no harm.
  for path in /etc /home /root /srv /opt/bin /var/lib /run; do
    is_read_only there touch "$path/x"
  done
  for path in / /usr /usr/bin /boot /var /proc/sys/kernel/hostname /sys /sys/fs/cgroup; do
    fails there test -w "$path"
  done
  for path in "$state/x" "$runtime/x"; do
    there touch "$path"
    inside test -e "$path"
  done
  # What is left open, by all that is mounted there.
  there bash -c 'while read -r _ _ _ _ path _; do [[ ! -w $path ]] || echo "$path"; done </proc/self/mountinfo' \
    >"$world/open"
  fails grep -vE "^(/(dev|proc|sys)(/.*)?|/tmp|/var/tmp|$state|$runtime)$" "$world/open"
  grep -qx "$state" "$world/open"
  no_violations
}

@test "what users have in their homes and in /tmp is not there" {
  inside test -s /home/file
  fails there cat /home/file
  [[ -z $(there ls -A /home /root | grep -v :) ]]
  mkdir "$world/tmp" && inside mount --bind "$world/tmp" /var/tmp
  local place
  for place in /tmp /var/tmp; do
    there touch "$place/${world##*/}.there"
    inside test ! -e "$place/${world##*/}.there"
  done
  fails there test -e "$world"
}

@test "commands of alerts and what sends webhooks see no journal, and no home to write to" {
  as alice berth run -q -m 1G -- true
  local unit place
  inside bash -c 'test -s /var/lib/berth/sim/*/leases.db'
  for unit in berth-command@.service.in berth-deliver@.service.in; do
    fails behind "$unit" bash -c 'cat /var/lib/berth/sim/*/leases.db'
    [[ -z $(behind "$unit" ls -A /var/lib/berth /home | grep -v :) ]]
    for place in /etc /home /opt /run /srv /var/lib/berth; do
      is_read_only behind "$unit" touch "$place/x"
    done
    behind "$unit" touch /tmp/x
  done
  behind berth-command@.service.in test -S "$BERTH_SOCKET"
  fails behind berth-deliver@.service.in test -S "$BERTH_SOCKET"
}

@test "a wall that is not known here is not passed over" {
  (cat "$units/berthd.service.in" && printf '[Service]\nBindPaths=/home\n') >"$world/build/units/other.service.in"
  run behind other.service.in true
  status_is 1
  contains "BindPaths= is not known"
}
