# SPDX-License-Identifier: Apache-2.0
# A daemon of the whole machine among users who mean harm. A bats file says `load lib`; each test
# has a machine of its own: a mount namespace with users alice, bob and carol, the daemon as user
# `berth` with the rights that its unit gives it, and one simulated GPU ($sim says another) that all
# share. alice and bob are in the group of the socket, carol is not. It takes root, who may mount;
# elsewhere these tests are skipped, and say so.
load ../cli/lib

declare -ga under=()
declare -gA uid=([berth]=60000 [alice]=60001 [bob]=60002 [carol]=60003)

setup() { machine_up; }
teardown() { machine_down; }

machine_up() {
  ((EUID == 0)) || skip "this needs root, to act as several users"
  unshare --mount --propagation private true 2>/dev/null ||
    skip "this needs a mount namespace, which this container does not allow"
  world_up
  make_users
  # The build may lie where they cannot read.
  local build
  build=$(dirname "$(dirname "$(type -P berth)")")
  mkdir -p "$world/build/bin" "$world/runtime" "$world/state" "$world/gpu" "$world/own/berth"
  cp "$build"/bin/{berth,berthd,berth-probe,berth-mover,berth-deliver,vram_user} "$world/build/bin/"
  cp -r "$build/lib" "$(dirname "${BASH_SOURCE[0]}")/under_unit.py" "$world/build/"
  cp "${BASH_SOURCE[0]%/*}/attack.py" "$world/build/bin/"
  cp -r "$units" "$world/build/units"
  units=$world/build/units
  chmod 0711 "$world"
  chmod -R a+rX "$world/build"
  chmod 0777 "$world/gpu"
  chmod 0755 "$world/runtime" "$world/own" "$world/own/berth"
  chown "${uid[berth]}:${uid[berth]}" "$world/runtime" "$world/state" "$world/own/berth"
  export BERTH_SIM_DIR=$world/gpu PATH=$world/build/bin:$PATH
  export BERTH_SOCKET=$world/runtime/berthd.sock
  unset BERTH_RUNTIME_DIR
  # Those who act in it enter the namespace of this process.
  # (Until it has said that it is apart from ours, a mount "inside" would be one of this machine.)
  unshare --mount --propagation private \
    bash -c 'echo >"$1/apart"; exec sleep infinity' - "$world" 3>&- &
  machine=$!
  eventually test -s "$world/apart"
  other_mounts
  inside mount --bind "$world/etc/passwd" /etc/passwd
  inside mount --bind "$world/etc/group" /etc/group
  inside mount --bind "$world/own" /run
  # What a test says that the machine has beside this.
  ! declare -F before_daemon >/dev/null || before_daemon
  [[ -d $world/over ]] || small_leases
  daemon_up
}

other_mounts() {
  local theirs
  theirs=$(readlink "/proc/$machine/ns/mnt")
  [[ $theirs == mnt:* && $theirs != $(readlink /proc/self/ns/mnt) ]]
}

make_users() {
  mkdir "$world/etc"
  cp /etc/passwd /etc/group "$world/etc/"
  local name
  for name in "${!uid[@]}"; do
    echo "$name:x:${uid[$name]}:${uid[$name]}::$world/home.$name:/bin/bash" >>"$world/etc/passwd"
    [[ $name == berth ]] || echo "$name:x:${uid[$name]}:" >>"$world/etc/group"
    mkdir -m 0700 "$world/home.$name"
    chown "${uid[$name]}:${uid[$name]}" "$world/home.$name"
  done
  echo "berth:x:${uid[berth]}:alice,bob" >>"$world/etc/group"
}

# inside COMMAND...: as root, on this machine.
inside() { other_mounts && nsenter --target "$machine" --mount --root --wd="$PWD" "$@"; }

# as USER COMMAND...: as that user, in their home.
as() {
  local user=$1 home=$world/home.$1
  shift
  nsenter --target "$machine" --mount --root env -C "$home" HOME="$home" XDG_STATE_HOME="$home" \
    XDG_CONFIG_HOME="$home" XDG_CACHE_HOME="$home" \
    setpriv --reuid "${uid[$user]}" --regid "${uid[$user]}" --init-groups "$@"
}

units=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../integrations/systemd")
# walls UNIT...: under_unit.py of that unit, with a Python that every user may run.
walls() { PATH=/usr/local/bin:/usr/bin:/bin python3 -B "$world/build/under_unit.py" "$@"; }

# daemon_up [USER]: as integrations/systemd/berthd.service.in starts it, but for another user.
# `under` is a command that starts it instead.
daemon_up() {
  local user=${1:-berth} rights
  rights=$(walls "$units/berthd.service.in" --capabilities)
  local given=(--inh-caps "$rights" --ambient-caps "$rights" --bounding-set "$rights")
  [[ $user != root ]] || given=()
  (
    umask 077
    exec 3>&- nsenter --target "$machine" --mount --root --wd=/ \
      setpriv --reuid "$user" --regid "$user" --clear-groups "${given[@]}" --no-new-privs \
      "${under[@]}" berthd --system --foreground --in-container --socket "$BERTH_SOCKET" \
      --state-dir "$world/state"
  ) 2>>"$world/log" &
  eventually inside test -S "$BERTH_SOCKET" && eventually test -f "$world/gpu/gpu-world" || {
    cat "$world/log" >&2
    return 1
  }
  # Each user gives it to themselves alone.
  chmod 0666 "$world"/gpu/*
}

# own_etc: from before_daemon: an /etc of this machine's own, in which there is no berth yet.
own_etc() {
  mkdir "$world/over"
  inside mount -t tmpfs none "$world/over"
  inside mkdir "$world/over/upper" "$world/over/work"
  inside mount -t overlay none \
    -o "lowerdir=/etc,upperdir=$world/over/upper,workdir=$world/over/work" /etc 2>/dev/null ||
    skip "/etc cannot be replaced here"
  inside rm -rf /etc/berth
  inside cp "$world/etc/passwd" "$world/etc/group" /etc/
}

# small_leases: what is tried here takes many leases, as small and as fast as a user wants them.
# A test whose description speaks of contexts has them cost what they do by default.
small_leases() {
  own_etc
  inside mkdir -m 0755 /etc/berth
  {
    printf '[limits]\nrequests_per_second = 0\n'
    [[ $BATS_TEST_DESCRIPTION == *contexts* ]] || printf '[gpu]\ncontext = "1MiB"\n'
  } | inside bash -c 'umask 022; cat >/etc/berth/berth.toml'
}

# attack USER [ARGUMENT...]: as that user, what Python is told on standard input, with attack.py.
attack() {
  local user=$1
  shift
  as "$user" env PYTHONPATH="$world/build/bin" /usr/bin/python3 -B - "$@"
}

# memory [FIELD]: what the daemon has of it now, in KiB; peak: the most that it has had so far.
memory() {
  local pid
  for pid in $(world_processes); do
    [[ $(cat "/proc/$pid/comm") != berthd ]] ||
      awk -v field="${1:-VmRSS}:" '$1 == field { print $2 }' "/proc/$pid/status"
  done
}
peak() { memory VmHWM; }

# peak_within KIB MORE: the daemon's memory has not grown by more since then.
peak_within() {
  local now copies=1
  # ThreadSanitizer keeps four bytes and a half of each that is used.
  ! berth_is_sanitized t || copies=6
  now=$(peak)
  ((now < $1 + $2 * copies)) || {
    echo "the daemon has had $now KiB, and $1 KiB before" >&2
    return 1
  }
}

# others_are_answered: a question in two seconds at most, however loaded this machine is.
others_are_answered() {
  # What ThreadSanitizer watches takes ten times as long, and that of all who ask at once.
  local most=2000
  ! berth_is_sanitized t || most=10000
  attack alice <<PY
from attack import *
slowest = waits(30)[-1]
assert slowest < $most, f'{slowest} ms'
PY
}

machine_down() {
  local red=0
  [[ -n ${world-} ]] || return 0
  world_down || red=1
  [[ -z ${machine-} ]] || kill "$machine" 2>/dev/null || true
  return "$red"
}

# directory_of USER LEASE: where the two files of their lease lie.
directory_of() {
  echo "${BERTH_SOCKET%.sock}.leases/$(as "$1" berth show "$2" --json | command jq -r .handle)"
}

# holds USER NAME BYTES [OPTION...]: their program has so much memory, and goes on.
holds() {
  local user=$1 name=$2 bytes=$3
  shift 3
  as "$user" berth run -n "$name" "$@" -- vram_user --bytes "$bytes" --hold 60s \
    >"$world/$name" 2>"$world/$name.said" 3>&- &
  eventually grep -q holding "$world/$name"
}
