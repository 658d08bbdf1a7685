# SPDX-License-Identifier: Apache-2.0
# A machine of namespaces for each test of a bats file that says `load lib`: Debian with systemd as
# its first process, this build of Berth installed as docs/operations.md says, one simulated GPU, a
# user `ada`, and a logind that ends what a session leaves. Of the machine around it only the build
# folder is written to, where Debian's root is kept, and a cgroup is made and removed. Where that
# cannot be, tests are skipped and say why.
load ../cli/lib

build=${build_dir:-$(git rev-parse --show-toplevel)/build/release}
place=$build/systemd
cgroups=/sys/fs/cgroup
[[ ! -d $cgroups/unified ]] || cgroups=$cgroups/unified

setup_file() {
  local why=$BATS_FILE_TMPDIR/why
  look_for_obstacles >"$why" || return 0
  make_base >"$place/log" 2>&1 || {
    echo "no root of Debian can be made: $(tail -n 1 "$place/log")" >"$why"
    return 0
  }
  rm -rf "$place/berth"
  DESTDIR=$place/berth cmake --install "$build" --prefix /usr/local >/dev/null || return
  # Nothing of Berth runs yet: where this does not work, the fault is not in it.
  make_machine && boot >"$place/log" 2>&1 ||
    echo "systemd does not boot here: $(tail -n 1 "$place/log")" >"$why"
  remove_machine
}

setup() {
  local why
  why=$(cat "$BATS_FILE_TMPDIR/why")
  [[ -z $why ]] || skip "$why"
  make_machine && boot && install_berth
}

teardown() { remove_machine; }

# look_for_obstacles: why no such machine can be made here; without one, it says nothing.
look_for_obstacles() {
  ((EUID == 0)) || { echo "this needs root, to make a machine of namespaces" && return 1; }
  mkdir -p "$place"
  unshare --mount --propagation private --uts --ipc --net --pid --fork --cgroup true 2>/dev/null ||
    { echo "no namespaces can be made here" && return 1; }
  [[ -w $cgroups/cgroup.procs ]] && mkdir "$cgroups/berth-$$" 2>/dev/null ||
    { echo "no cgroup of version 2 can be made here" && return 1; }
  rmdir "$cgroups/berth-$$"
  grep -qw overlay /proc/filesystems || { echo "this kernel has no overlayfs" && return 1; }
}

# make_base: $place/base, of packages that are fetched once.
make_base() (
  set -euo pipefail
  exec 9>"$place/lock"
  flock 9
  if [[ ! -d $place/base ]]; then
    command -v debootstrap >/dev/null || { echo "debootstrap is not here" && exit 1; }
    rm -rf "$place/new"
    timeout 600 debootstrap --variant=minbase --include="$(tr ' ' , <<<"${packages[*]}")" \
      bookworm "$place/new" "$(mirror)"
    rm -rf "$place/new/var/cache/apt/archives" "$place/new/dev"
    mkdir "$place/new/dev"
    : >"$place/new/etc/machine-id"
    mv "$place/new" "$place/base"
  fi
)
packages=(dbus dbus-user-session jq libpam-systemd login procps systemd systemd-sysv)

# The machine's own, or Debian's.
mirror() {
  local site
  site=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' 'Codename: bookworm' |
    head -n 1) || true
  echo "${site:-http://deb.debian.org/debian}"
}

variables="BERTH_SIM=1x16GiB BERTH_SIM_DIR=/srv/sim BERTH_SOCKET=/run/berth/berthd.sock"

make_machine() {
  machine=$(mktemp -d "$place/machine.XXXXXX")
  cgroup=$cgroups/berth-${machine##*.}
  mkdir "$machine/"{root,upper,work}
  chmod 0755 "$machine/upper"
  local etc=$machine/upper/etc
  mkdir -p "$etc/systemd/"{system,user,logind}.conf.d "$etc/systemd/system/berthd.service.d" \
    "$machine/upper/srv"
  tr -d - </proc/sys/kernel/random/uuid >"$etc/machine-id"
  ln -s /dev/null "$etc/systemd/system/console-getty.service"
  echo box >"$etc/hostname"
  # Where the simulated driver is, for all who may ask; the rest is as it is installed.
  tr ' ' '\n' <<<"$variables" >"$etc/environment"
  printf '[Manager]\nDefaultEnvironment=%s\n' "$variables" |
    tee "$etc/systemd/system.conf.d/sim.conf" >"$etc/systemd/user.conf.d/sim.conf"
  # systemd mounts /proc anew for a service behind walls.
  printf '[Service]\n%s\n%s\n' ReadWritePaths=/srv/sim \
    BindReadOnlyPaths=/srv/boot_id:/proc/sys/kernel/random/boot_id \
    >"$etc/systemd/system/berthd.service.d/sim.conf"
  printf '[Login]\nKillUserProcesses=yes\n' >"$etc/systemd/logind.conf.d/kill.conf"
  mkdir -m 1777 "$machine/upper/srv/sim"
}

# install_berth: what docs/operations.md says after `cmake --install`, but for what a test looks at.
install_berth() {
  on systemd-sysusers
  on systemd-tmpfiles --create berth.conf
  on useradd --create-home --shell /bin/bash --groups berth ada
  on systemctl daemon-reload
}

# boot: starts systemd, and waits until it says that all is started.
boot() {
  tee "$machine/upper/srv/boot_id" </proc/sys/kernel/random/uuid >"$machine/boot_id"
  : >"$machine/console"
  mkdir -p "$cgroup"
  (
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --mount --propagation private --uts --ipc --net --pid --fork --kill-child \
      --cgroup "${BASH_SOURCE[0]%/*}/boot" "$machine" "$place/berth:$place/base"
  ) >"$machine/log" 2>&1 3>&- &
  outer=$!
  patience=30 eventually becomes_systemd && patience=60 eventually has_booted || {
    cat "$machine/log" "$machine/console" >&2
    return 1
  }
}
has_booted() { [[ $(on systemctl is-system-running 2>&1) =~ running|degraded ]]; }
becomes_systemd() {
  first=$(pgrep -P "$outer") && [[ $(readlink "/proc/$first/exe") == */systemd/systemd ]]
}

# on COMMAND...: on the machine, as root, in no session.
on() {
  (
    mkdir -p "$cgroup/tests" && echo "$BASHPID" >"$cgroup/tests/cgroup.procs"
    # shellcheck disable=SC2086 # the variables are split at blanks on purpose
    exec 3>&- nsenter --target "$first" --mount --uts --ipc --net --pid --cgroup --root --wd=/ \
      env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
      $variables "$@" </dev/null
  )
}

# ada SCRIPT: logs in, runs it, and logs out.
ada() { on su -l ada -c "$1"; }

# of LEASE FIELD: as in tests/cli, on the machine.
of() { on berth show "$1" --json 2>/dev/null | command jq -r ".$2"; }

# runs_in UNIT NAME: a process of this name is one of the unit's.
runs_in() {
  local pid
  while read -r pid; do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) != "$2" ]] || return 0
  done < <(find "$cgroup" -path "*/$1/cgroup.procs" -exec cat {} + 2>/dev/null)
  return 1
}

# halt: systemd ends all and itself.
halt() {
  on systemctl poweroff --no-wall || true
  timeout 120 tail -s 0.05 --pid="$outer" -f /dev/null
}

remove_machine() {
  [[ -n ${machine-} ]] || return 0
  [[ -z ${first-} ]] || kill -KILL "$first" 2>/dev/null || true
  timeout 20 tail -s 0.05 --pid="${outer:-0}" -f /dev/null || true
  [[ ! -d $cgroup ]] || eventually find "$cgroup" -depth -type d -exec rmdir {} \;
  rm -rf "$machine"
}
