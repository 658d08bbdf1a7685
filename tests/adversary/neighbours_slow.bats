#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One user against the time of another, at length: `./dev night` runs these, `./dev test` does not.
load lib

# alice_waits_at_most MS: by 99 of 100 of her questions.
alice_waits_at_most() {
  attack alice "$1" <<'PY'
import sys
from attack import *
waits(5)
most = waits(200)[-3]
assert most < int(sys.argv[1]), f'{most} ms'
PY
}

@test "all connections that bob may have, at work, leave alice a quarter of a second" {
  alice_waits_at_most 250
  local before
  before=$(peak)
  attack bob >>"$world/polite" 3>&- <<'PY' &
from attack import *
leases = [ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 600000, 'command': 'c' * 4096})
          for _ in range(60)]
waiting = [Client() for _ in range(30)]
for one in waiting:
    one.ask('POST', '/v1/leases', {'vram_bytes': 16000 * MIB, 'ttl_ms': 600000})
polite = [connect() for _ in range(350)]
text = b'GET /v1/leases HTTP/1.1\r\nHost: x\r\n\r\n'
print('asking', flush=True)
end = time.monotonic() + 40
while time.monotonic() < end:
    for one in polite:
        one.sendall(text)
    for one in polite:
        assert Client(one).answer()[0] == 200
    print('answered', flush=True)
PY
  patience=30 eventually grep -q answered "$world/polite"
  : >"$world/polite"
  alice_waits_at_most 250
  patience=30 eventually grep -q answered "$world/polite"
  as alice berth run -q -m 1M -- true
  peak_within "$before" 65536
}

@test "a body that comes byte by byte ends after its time, on each connection" {
  attack bob >"$world/drips" 3>&- <<'PY' &
from attack import *
drips = [connect() for _ in range(300)]
for one in drips:
    one.sendall(b'POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n')
begin, open_ones = time.monotonic(), drips
while open_ones and time.monotonic() < begin + 30:
    left = []
    for one in open_ones:
        try:
            one.sendall(b' ')
            left.append(one)
        except (BrokenPipeError, ConnectionResetError):
            pass
    open_ones = left
    time.sleep(0.2)
print('over', len(open_ones), round(time.monotonic() - begin), flush=True)
PY
  alice_waits_at_most 250
  patience=40 eventually grep -q over "$world/drips"
  grep -q "over 0 " "$world/drips" || { cat "$world/drips" >&2; return 1; }
}

@test "connecting to the names of GPUs keeps nobody waiting" {
  attack carol >"$world/names" 3>&- <<'PY' &
from attack import *
names = {line.split()[-1] for line in open('/proc/net/unix') if '@berth/1/' in line}
assert names
print('connects', flush=True)
for _ in range(100000):
    for name in names:
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        try:
            one.connect('\0' + name[1:])
        except OSError:
            pass
        one.close()
PY
  eventually grep -q connects "$world/names"
  alice_waits_at_most 250
}

@test "a user who stops their command and berth run keeps nobody from what they hold" {
  as bob berth run -q -m 15G -n stopped -- bash -c 'trap "" TERM; kill -STOP $PPID; kill -STOP $$' 3>&- &
  eventually eval '[[ $(as bob berth show stopped --json 2>/dev/null | command jq -r .state) == held ]]'
  as alice berth fit -m 1G >/dev/null || (($? == 75))
  # Root ends it: neither can answer, and nobody needs them to.
  inside berth cancel --yes stopped
  as alice timeout 25 berth run -q -m 15G -- true
}
