#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Places that another user has prepared, and rights that a user has no more.
load lib

before_daemon() {
  own_etc
  inside mkdir -m 0755 /etc/berth
  # A /tmp of its own, with the world in it, for places whose names are known beforehand.
  mkdir "$world/there" "$world/tmp"
  inside mount -t tmpfs -o mode=1777 none "$world/tmp"
  inside mkdir "$world/tmp/${world##*/}"
  inside mount --rbind "$world" "$world/tmp/${world##*/}"
  inside mount --rbind "$world/tmp" /tmp
}

# configure TEXT: what the daemon reads when it is told to.
configure() { inside bash -c 'umask 022; printf "$1" >/etc/berth/berth.toml' - "$1"; }
reload() { inside berth daemon reload; }

# own_daemon USER COMMAND...: as a user on a machine whose daemon is not everybody's.
own_daemon() {
  local user=$1
  shift
  as "$user" env -u BERTH_SOCKET -u BERTH_SIM_DIR BERTH_SIM="$BERTH_SIM" "$@"
}

@test "a user who is no admin any more acts on nobody's lease, over an old connection too" {
  configure '[access]\nadmins = ["bob"]\n'
  reload
  as alice berth reserve 10m -m 1G -n first
  as alice berth reserve 10m -m 1G -n second
  attack bob >"$world/bob" 2>&1 3>&- <<'PY' &
from attack import *
old = Client()
print(old.ask('POST', '/v1/leases/1/cancel', {})[0], flush=True)
while not os.path.exists('go'):
    time.sleep(0.05)
print(old.ask('POST', '/v1/leases/2/cancel', {})[0], flush=True)
PY
  eventually grep -q 200 "$world/bob"
  configure '[access]\nadmins = []\n'
  reload
  as bob touch go
  eventually grep -q 403 "$world/bob"
  [[ $(as alice berth show second --json | command jq -r .state) == held ]]
}

@test "a daemon of alice's does not start where bob has been before" {
  as bob mkdir -m 0777 /tmp/berth-60001
  run own_daemon alice berth status
  status_is 73
  contains "berth-60001"
  inside rm -r /tmp/berth-60001
  as bob mkdir -m 0777 /tmp/bobs
  as bob ln -s /tmp/bobs /tmp/berth-60001
  run own_daemon alice berth status
  status_is 73
  as bob rm /tmp/berth-60001
  own_daemon alice berth status >/dev/null
  # And what it has made is closed.
  run as bob ls /tmp/berth-60001
  contains "Permission denied"
}

@test "a daemon that starts by itself takes next to nothing from its starter" {
  own_daemon alice env LD_LIBRARY_PATH=/nonexistent SECRET_TOKEN=hers GCONV_PATH=/tmp BASH_ENV=/tmp/x \
    berth status >/dev/null 5</etc/passwd
  local pid file
  pid=$(own_daemon alice berth daemon status --json | command jq .pid)
  fails grep -aE 'SECRET_TOKEN|LD_|GCONV_PATH|BASH_ENV' "/proc/$pid/environ"
  for file in "/proc/$pid"/fd/*; do
    [[ $(readlink "$file") != *passwd ]] || { echo "it has $file" >&2; return 1; }
  done
  [[ $(awk '/^Umask:/ { print $2 }' "/proc/$pid/status") == 0077 ]]
}

# roots_daemon STATE: another one of the machine, as root starts it by hand: it goes on in the background.
roots_daemon() {
  inside env BERTH_SIM_DIR="$world/tmp/sim" BERTH_RUNTIME_DIR="$world/roots" timeout 20 \
    berthd --system --in-container --socket "$world/roots/own.sock" --state-dir "$1"
}

# is_left_alone STATE...: root's daemon starts in none of these, and what is root's stays as it was.
is_left_alone() {
  local state code
  for state in "$@"; do
    code=0
    roots_daemon "$state" >"$world/said" 2>&1 3>&- || code=$?
    [[ $code == 73 ]] || { echo "$state: status $code" && cat "$world/said" && return 1; }
    [[ $(<"$world/precious") == "root's" && $(stat -c '%a %u %h' "$world/precious") == "600 0 $links" ]]
  done
}

@test "root's daemon starts in no state directory that bob has prepared, and writes through no link of his" {
  local links=1 name
  mkdir -m 0755 "$world/roots"
  (umask 077 && echo "root's" >"$world/precious")
  inside mkdir -m 1777 /tmp/shared
  for name in open closed; do
    as bob mkdir -m 0700 "/tmp/shared/$name"
    as bob bash -c 'for file in berthd.log history.db leases.db contexts start.log journal; do
      ln -s "$1" "/tmp/shared/$2/$file"; mkdir -p "/tmp/shared/$2/sim/$3"
      ln -s "$1" "/tmp/shared/$2/sim/$3/$file"; done' - "$world/precious" "$name" "$BERTH_SIM_NAME"
  done
  as bob chmod -R 0777 /tmp/shared/open
  as bob ln -s "$world/state" /tmp/shared/turned
  as bob mkdir -m 0777 /tmp/shared/above
  is_left_alone /tmp/shared/{open,closed,turned,above/new,turned/new}
  # Made by root, below what is bob's, or by bob below what is root's and open to all.
  inside install -d -m 0700 /tmp/shared/above/roots
  is_left_alone /tmp/shared/above/roots
  inside mkdir -m 0777 /tmp/unsticky && inside mkdir -m 0700 /tmp/unsticky/roots
  is_left_alone /tmp/unsticky/roots
  # Where nobody has been before, it starts.
  inside mkdir -m 0700 /tmp/shared/clean
  roots_daemon /tmp/shared/clean 3>&-
  eventually inside test -S "$world/roots/own.sock"
  inside env BERTH_SOCKET="$world/roots/own.sock" berth daemon stop
}

@test "bob's daemon is not believed, and hears nothing of alice" {
  as bob /usr/bin/python3 -c '
import socket, os
heard = socket.socket(socket.AF_UNIX)
heard.bind("/tmp/offered")
os.chmod("/tmp/offered", 0o777)
heard.listen()
print("listens", flush=True)
while True:
    one, _ = heard.accept()
    print("heard", one.recv(4096), flush=True)' >"$world/heard" 2>&1 3>&- &
  eventually grep -q listens "$world/heard"
  run as alice env BERTH_SOCKET=/tmp/offered berth run -m 1G -- true
  status_is 77
  contains "is run by"
  fails grep GET "$world/heard"
  fails grep POST "$world/heard"
}

@test "the directories of the daemon are closed to users" {
  as alice berth reserve 10m -m 1G >/dev/null
  local place command
  for place in "${BERTH_SOCKET%/*}" "${BERTH_SOCKET%.sock}.leases" "$world/state"; do
    for command in 'mkdir "$1/x"' 'ln -s /etc/passwd "$1/x"' 'touch "$1/x"' 'mkfifo "$1/x"' \
      'mv "$1" "$1.away"' 'rm -rf "$1"/* && test -e "$1"/nothing'; do
      run as bob bash -c "$command" - "$place"
      [[ $status != 0 ]] || { echo "$command in $place" >&2; return 1; }
    done
  done
  for command in 'ls "$1"' 'cat "$1"/leases.db' 'ls "$1"/sim'; do
    run as bob bash -c "$command" - "$world/state"
    contains "Permission denied"
  done
  run as bob ls "${BERTH_SOCKET%.sock}.leases"
  contains "Permission denied"
  as alice berth ps | grep -q held
}

# has_mode MODE PATH
has_mode() {
  [[ $(inside stat -c %a "$2") == "$1" ]] || { echo "$2 has $(inside stat -c %a "$2")" >&2; return 1; }
}

@test "what the daemon makes has the modes that docs/security.md names" {
  as alice berth run -q -m 1G -- true
  as alice berth reserve 10m -m 1G -n held
  local file
  has_mode 660 "$BERTH_SOCKET"
  has_mode 755 "${BERTH_SOCKET%/*}"
  has_mode 700 "$world/state"
  while read -r file; do has_mode 600 "$file"; done < <(find "$world/state" -type f)
  find "$world/state" -name leases.db | grep -q .
  # The mask of its access control list takes the place of its group's rights.
  [[ $(inside stat -c %a "$(directory_of alice held)") =~ ^7.0$ ]]
}

@test "the .berth.toml of another user in a shared directory runs and allows nothing" {
  as bob mkdir -m 0777 /tmp/shared
  as bob bash -c 'printf "vram = \"1GiB\"\nname = \"x\"\npriority = \"urgent\"\non_full = \"wait\"\n[daemon]\nstate_dir = \"/tmp/x\"\n[alert.a]\nwhen = \"lease.ended\"\ncommand = [\"touch\", \"/tmp/OWNED\"]\n" >/tmp/shared/.berth.toml'
  run as alice bash -c 'cd /tmp/shared && berth run -q -m 2G -n hers -- bash -c "sleep 0.2; exit 3"'
  status_is 3
  contains ".berth.toml"
  [[ $(as alice berth show hers --json | command jq -r '.name, .vram_granted_bytes, .priority') == hers*2147483648*normal ]]
  [[ ! -e $world/tmp/OWNED ]]
  fails inside test -e /tmp/OWNED
}

@test "a command of an alert has neither the daemon's rights nor its descriptors" {
  inside bash -c 'printf "#!/bin/sh\ncat >/dev/null; { cat /proc/self/status; ls -l /proc/self/fd; } >/tmp/told 2>&1; echo over >>/tmp/told\n" >/tmp/teller; chmod 755 /tmp/teller'
  configure '[alert.told]\nwhen = "lease.ended"\ncommand = ["/tmp/teller"]\n'
  reload
  as alice berth run -q -m 1G -- true
  eventually inside grep -qs over /tmp/told
  inside grep -qP '^CapEff:\t0+$' /tmp/told
  inside grep -qP '^CapPrm:\t0+$' /tmp/told
  fails inside grep -E 'socket|leases|\.db|pidfd' /tmp/told
}
