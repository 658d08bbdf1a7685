#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Rules that root adds for a whole machine which has none: users are shut out by none of them, and
# see no address that a message is sent to.
load lib

before_daemon() { own_etc; }

@test "a rule of root's, whose files are closed to others, keeps no user from anything" {
  inside bash -c 'umask 077; berth alert add lease.ended -n first; berth alert add gpu.lost -n second'
  inside bash -c 'umask 077; echo https://hooks.example.org/T0/TOKEN |
    berth alert add lease.ended -n third --webhook -'
  inside berth daemon reload
  local user
  for user in alice bob; do
    as "$user" berth ps
    as "$user" berth run -q -m 1G -- true
    as "$user" berth config check
    as "$user" berth alert list | grep -q second
  done
  # Nor when the daemon, which is not root, begins anew.
  inside berth daemon stop
  eventually eval '! inside test -S "$BERTH_SOCKET"'
  daemon_up
  as alice berth alert list | grep -q third
  run as bob berth alert add lease.ended -n his
  contains "Permission denied"
}

# watches USER WORD: for processes that carry it on their command lines or in what he can read of
# their environment. He tells of them in the file watched.
watches() {
  attack "$1" "$2" >"$world/watched" 2>&1 3>&- <<'PY' &
import sys
from attack import *
print('watching', flush=True)
while True:
    for pid in filter(str.isdecimal, os.listdir('/proc')):
        for name in 'cmdline', 'environ':
            try:
                with open(f'/proc/{pid}/{name}', 'rb') as file:
                    if sys.argv[1].encode() in file.read() and int(pid) != os.getpid():
                        print('seen:', pid, name, open(f'/proc/{pid}/comm').read(), flush=True)
            except OSError:
                pass
PY
  eventually grep -q watching "$world/watched"
}

@test "the address of a webhook is seen by root and the daemon alone" {
  # Nobody listens there: what a message is not taken for is told to all.
  local url=http://127.0.0.1:9/services/T0/TOKENOFROOT line
  echo "$url" >"$world/url" && chmod 0600 "$world/url"
  watches bob TOKENOFROOT
  inside berth alert add lease.ended -n hook --webhook - --allow-private <"$world/url"
  as bob berth run -q -m 1G -- true
  is_told() { as bob berth alert list | grep -q "webhook: not delivered"; }
  eventually is_told
  run inside berth alert test hook
  attack bob >"$world/told" <<'PY'
from attack import *
for target in 'alerts', 'daemon', 'status', 'history', 'history/events', 'history/sessions', 'leases?all=1':
    print(ask('GET', '/v1/' + target))
PY
  for line in 'alert list' 'alert list --json' 'config show' 'config show --json --origin' \
    'config check' 'history --events' 'doctor' 'daemon status' 'alert test hook'; do
    # shellcheck disable=SC2086
    as bob berth $line >>"$world/told" 2>&1 || true
  done
  as bob grep -rs ^ /etc/berth >>"$world/told" || true
  grep -q "hook" "$world/told"
  fails grep seen "$world/watched" # Before this test's own grep can be.
  fails grep TOKENOFROOT "$world/told"
  fails grep TOKENOFROOT "$world/log"
  [[ $(inside cat /etc/berth/webhooks/hook.url) == "$url" ]]
  as berth cat /etc/berth/webhooks/hook.url >/dev/null
}

@test "an address that root wrote where all can read it is not shown by berth" {
  inside bash -c 'umask 022; mkdir -p /etc/berth; printf "%s\n" "[alert.open]" \
    "when = \"lease.ended\"" "webhook = \"https://hooks.example.org/T0/TOKENOFROOT\"" >/etc/berth/berth.toml'
  inside berth daemon reload
  local form
  for form in 'config show' 'config show --json' 'config show -o csv' 'alert list' 'alert list --json'; do
    # shellcheck disable=SC2086
    run as bob berth $form
    status_is 0
    [[ $output != *TOKENOFROOT* ]] || { echo "$form: $output" >&2; return 1; }
  done
  run inside berth config show
  contains TOKENOFROOT
}
