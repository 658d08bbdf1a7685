#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Things that all users share: turns, the past, names, and what was learnt. No user takes them from
# another.
sim=1x16GiB,context_known=no
load lib

@test "leases that bob asks for and ends push none of alice's out" {
  run as alice berth run -q -m 1G -n mine -- bash -c 'exit 3'
  status_is 3
  attack bob <<'PY'
from attack import *
one = Client()
for _ in range(1200):
    status, made = one.ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000})
    assert status == 201, made
    assert one.ask('POST', f'/v1/leases/{made["id"]}/cancel', {})[0] == 200
PY
  run as alice berth wait 1
  status_is 3
  as alice berth show mine >/dev/null
}

@test "leases that bob ended by the thousand hide none of alice's in the past" {
  as alice berth run -q -m 1G -n mine -- true
  is_told() { as alice berth history --sessions --json | grep -q '"mine"'; }
  eventually is_told
  # What he has in some minutes, as the daemon would have written it.
  as berth /usr/bin/python3 - "$world"/state/sim/*/history.db "${uid[bob]}" <<'PY'
import sqlite3, sys
past = sqlite3.connect(sys.argv[1], timeout=30)
names = [row[1] for row in past.execute('PRAGMA table_info(leases)')]
hers = dict(zip(names, past.execute('SELECT * FROM leases').fetchone()))
rows = [list(dict(hers, id=i, user_id=int(sys.argv[2]), name='his').values())
        for i in range(2, 10500)]
with past:
    past.executemany(f'INSERT INTO leases VALUES ({",".join("?" * len(names))})', rows)
PY
  is_told
  [[ $(as alice berth history --sessions --json | command jq '.items | length') == 10000 ]]
}

@test "a new session for each request brings bob no turn before alice's" {
  attack bob >"$world/bob" 3>&- <<'PY' &
from attack import *
large = {'vram_bytes': 15 << 30, 'ttl_ms': 600000}
status, held = ask('POST', '/v1/leases', dict(large, session='s0'))
assert (status, held['state']) == (201, 'held'), held
waiting = []
for i in range(20):
    waiting.append(Client())
    status, said = waiting[-1].ask('POST', '/v1/leases', dict(large, session=f's{i + 1}'))
    assert (status, said['state']) == (201, 'waiting'), said
print(held['id'], flush=True)
time.sleep(60)
PY
  eventually test -s "$world/bob"
  as alice berth run -m 15G -n hers -- sleep 60 >/dev/null 2>&1 3>&- &
  eventually eval 'as alice berth queue --json | grep -q hers'
  [[ $(as alice berth queue --json | command jq -r '.items[0].name') == hers ]]
  as bob berth release --yes "$(<"$world/bob")"
  eventually eval '[[ $(as alice berth show hers --json | command jq -r .state) == held ]]'
}

@test "what bob's programs say of their contexts costs alice nothing" {
  as bob berth run -q -m 2G -n liar -- vram_user --bytes 600MiB --hold 60s >"$world/liar" 2>&1 3>&- &
  eventually grep -q holding "$world/liar"
  # What he has charged for contexts he says to be all of it.
  as bob /usr/bin/python3 - "$(directory_of bob liar)/use" <<'PY'
import mmap, sys
with open(sys.argv[1], 'r+b') as file:
    words = memoryview(mmap.mmap(file.fileno(), 0)).cast('Q')
    said = [at for at in range(len(words)) if words[at] == 512 << 20]
    assert said, 'no context is charged'
    for at in said:
        words[at] = (600 + 512) << 20
PY
  # He is believed, for himself: the driver counts 900 MiB of this process.
  eventually grep -qrs $((900 << 20)) "$world/state"
  run as bob berth run -q -m 1G -- vram_user --bytes 256MiB --quiet
  contains CUDA_ERROR_OUT_OF_MEMORY
  as alice berth run -q -m 1G -- vram_user --bytes 256MiB --quiet
}

@test "a user who knows the handle of alice's lease uses nothing of it" {
  holds alice hers 1GiB -m 4G
  local handle before
  handle=$(as alice berth show hers --json | command jq -r .handle)
  as bob env LD_LIBRARY_PATH="$world/build/lib/simgpu" BERTH_LEASE_ID="$handle" \
    BERTH_LEASE_DIR="$(directory_of alice hers)" vram_user --bytes 2GiB --hold 60s \
    >"$world/bob" 2>&1 3>&- &
  eventually grep -q holding "$world/bob"
  is_unmanaged() { as alice berth status | grep -qF "bob (unmanaged)"; }
  eventually is_unmanaged
  [[ $(as alice berth show hers --json | command jq '.vram_used_bytes < 2147483648') == true ]]
}

@test "a name that alice and bob have is no name to root" {
  as bob berth reserve 10m -m 1G -n train
  as alice berth reserve 10m -m 1G -n train
  run inside berth cancel --yes train
  status_is 64
  [[ $(as alice berth show 1 --json | command jq -r .state) == held ]]
  [[ $(as alice berth show 2 --json | command jq -r .state) == held ]]
}

@test "what bob asks for is bounded for him, and not for alice" {
  attack bob <<'PY'
from attack import *
for i in range(64):
    status, said = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 600000})
    assert (status, said['state']) == (201, 'held'), said
status, said = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 600000})
assert (status, said['error']['code']) == (429, 'queue_full'), said
status, said = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 600000, 'priority': 'urgent'})
assert status >= 400, said
PY
  as alice berth run -q -m 1G -- true
}
