#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon may signal the processes of all users. Nobody borrows that from it.
load lib

state_of() { awk '/^State:/ { print $2 }' "/proc/$1/status"; }
uids_of() { awk '/^Uid:/ { print $2, $3, $4 }' "/proc/$1/status"; }
handle_of() { as "$1" berth show "$2" --json | command jq -r .handle; }

# joins USER LEASE PID: with its start time; says what came of it.
joins() {
  attack "$1" "$(handle_of "$1" "$2")" "$3" <<'PY'
import sys
from attack import *
pid = int(sys.argv[2])
print(*ask('POST', f'/v1/leases/{sys.argv[1]}/join', {'pid': pid, 'start_ticks': start_ticks(pid)}))
PY
}

@test "a server of root's that has bob's rights for a moment joins no lease of his" {
  /usr/bin/python3 -c 'import os, time; os.setresuid(0, 60002, 0); time.sleep(1000)' 3>&- &
  local server=$!
  eventually eval '[[ $(uids_of "$server") == "0 60002 0" ]]'
  as bob berth reserve 10m -m 1G -n j
  run joins bob j "$server"
  contains "403"
  contains "wrong_process"
  as bob berth cancel --yes j
  [[ $(state_of "$server") == S ]]
  kill -KILL "$server"
}

@test "what has become root below a lease's command is neither stopped nor ended with it" {
  cp "$(type -P bash)" "$world/build/bin/rootsh"
  chmod 4755 "$world/build/bin/rootsh"
  as bob rootsh -pc '((EUID == 0))' || skip "no program can change its user here"
  as bob berth run -q -m 1G -n x -- bash -c \
    'rootsh -pc "exec setpriv --reuid 0 --regid 0 --clear-groups -- sleep 1000" & echo $! >child; wait' 3>&- &
  eventually test -s "$world/home.bob/child"
  local child=$(<"$world/home.bob/child") command
  eventually eval '[[ $(uids_of "$child") == "0 0 0" ]]'
  command=$(as bob berth show x --json | command jq .pid)
  as bob berth pause --mode freeze x
  [[ $(state_of "$command") == T ]]
  [[ $(state_of "$child") == S ]]
  as bob berth resume x
  as bob berth cancel x
  eventually eval '! kill -0 "$command" 2>/dev/null'
  [[ $(state_of "$child") == S ]]
  kill -KILL "$child"
}

# The daemon is told of an end by the process itself, and not by its number.
@test "a process that was given the number of one that has ended is not signalled for it" {
  as bob berth reserve 10m -m 1G -n j
  as bob bash -c 'echo $$ >joined; exec sleep 1000' 3>&- &
  eventually test -s "$world/home.bob/joined"
  local pid=$(<"$world/home.bob/joined")
  joins bob j "$pid" | grep -q ^200
  kill -KILL "$pid"
  eventually eval '! kill -0 "$pid" 2>/dev/null'
  inside /usr/bin/python3 - "$pid" >"$world/again" 2>&1 3>&- <<'PY' &
import ctypes, os, sys, time
wanted = (ctypes.c_int32 * 1)(int(sys.argv[1]))
words = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
time.sleep(0.05)
made = ctypes.CDLL(None, use_errno=True).syscall(435, words, ctypes.sizeof(words))  # clone3
if made == 0:
    os.setgroups([])
    os.setresgid(60002, 60002, 60002)
    os.setresuid(60002, 60002, 60002)
    os.execv('/bin/sleep', ['sleep', '1000'])
print(made if made > 0 else os.strerror(ctypes.get_errno()), flush=True)
os.wait()
PY
  eventually test -s "$world/again"
  [[ $(<"$world/again") == "$pid" ]] || skip "no process can be given a number here: $(<"$world/again")"
  eventually eval '[[ $(uids_of "$pid") == "60002 60002 60002" ]]'
  run as bob berth pause --mode freeze j
  [[ $(state_of "$pid") == S ]]
  as bob berth cancel --yes j
  [[ $(state_of "$pid") == S ]]
  kill -KILL "$pid"
}

@test "a process of alice's that bob names as left over, or as what his request hangs on, is left alone" {
  as alice bash -c 'echo $$ >hers; exec sleep 1000' 3>&- &
  eventually test -s "$world/home.alice/hers"
  local hers=$(<"$world/home.alice/hers")
  attack bob "$hers" <<'PY'
import sys
from attack import *
pid = int(sys.argv[1])
hers = {'pid': pid, 'start_ticks': start_ticks(pid)}
for more in {}, {'anchor': hers}:
    status, lease = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, **more})
    if status != 201:
        continue
    for verb, body in (('exit', {'code': 0, 'leftovers': [hers]}), ('freeze', {}),
                       ('release', {'kill': True}), ('cancel', {})):
        ask('POST', f'/v1/leases/{lease["handle"]}/{verb}', body)
    seen = json.dumps(ask('GET', f'/v1/leases/{lease["id"]}'))
    assert f'"pid": {pid}' not in seen, seen
PY
  [[ $(state_of "$hers") == S ]]
  as alice kill -KILL "$hers"
}
