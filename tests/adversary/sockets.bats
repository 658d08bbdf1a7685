#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Attacks through the daemon's socket: on its memory, on the time that others wait, and on the
# identity of users.
load lib
# What it keeps of freed memory is not the daemon's.
ASAN_OPTIONS+=:quarantine_size_mb=1:allocator_release_to_os_interval_ms=0

@test "a pile of requests whose answers nobody reads costs neither memory nor time of others" {
  local before
  others_are_answered
  before=$(peak)
  attack bob >"$world/pile" 3>&- <<'PY' &
from attack import *
pile = b'GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n' * 15000
greedy = [connect() for _ in range(8)]
print(sum(send_some(one, pile, 0.3) for one in greedy) < 8 * len(pile), flush=True)
time.sleep(60)
PY
  others_are_answered
  eventually grep -q True "$world/pile"
  others_are_answered
  peak_within "$before" 65536
}

@test "a body without end is refused, however it is framed" {
  local before
  others_are_answered
  before=$(peak)
  attack bob <<'PY'
from attack import *
for begin in b'2;', b'2\r\n{}\r\n0\r\nX: ', b'2\r\n{}\r\n0\r\nX: 1\r\n' * 10000, b'fffffff\r\n':
    endless = Client()
    endless.connection.sendall(
        b'POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    try:
        for _ in range(400):
            endless.connection.sendall(begin + b'a' * 65536)
    except (BrokenPipeError, ConnectionResetError):
        pass
    try:
        status, _ = endless.answer()
        assert status in (400, 413), (begin[:20], status)
    except ConnectionResetError:  # It was said, and we did not read.
        pass
PY
  others_are_answered
  peak_within "$before" 65536
}

@test "what was begun and left is no memory of the daemon's once its sender has gone" {
  ! berth_is_sanitized t || skip "ThreadSanitizer keeps what it has once had"
  local before
  others_are_answered
  before=$(memory)
  attack bob <<'PY'
from attack import *
begin = b'POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;'
held = [connect() for _ in range(380)]
for one in held:
    one.sendall(begin + b'a' * 60000)
waits(30)  # All of it was read by then.
PY
  others_are_answered
  (($(peak) > before + 16384)) || { echo "bob was too slow to harm" >&2; return 1; }
  is_given_back() { (($(memory) < before + 16384)); }
  eventually is_given_back || { echo "$(memory) KiB now, $before KiB before" >&2; return 1; }
}

@test "an encoding that is not known hides no request" {
  attack bob <<'PY'
from attack import *
hidden = b'POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: 38\r\n\r\n'
hidden += b'{"vram_bytes":1048576,"ttl_ms":600000}'
for encoding in b'xchunked', b'chunked, gzip', b'gzip', b'identity, chunked':
    one = Client()
    one.connection.sendall(b'POST /v1/fit HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ' + encoding
                           + b'\r\n\r\n' + hidden)
    status, _ = one.answer()
    assert status in (400, 501), (encoding, status)
for line in b'Content-Length: 0\r\nTransfer-Encoding: chunked', b'Content-Length: 0\r\nContent-Length: 99':
    one = Client()
    one.connection.sendall(b'POST /v1/fit HTTP/1.1\r\nHost: x\r\n' + line + b'\r\n\r\n' + hidden)
    status, _ = one.answer()
    assert status == 400, (line, status)
assert ask('GET', '/v1/leases?all=1')[1]['items'] == []
PY
}

@test "a user who opens more connections than they may is told so, and no other is" {
  attack bob >"$world/many" 3>&- <<'PY' &
from attack import *
held = [connect() for _ in range(600)]
for one in held[:384]:
    one.sendall(b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
assert all(Client(one).answer()[0] == 200 for one in held[:384])
told = 0
for one in held[384:]:
    try:
        status, said = Client(one).answer()
        assert (status, said['error']['code']) == (429, 'too_many'), (status, said)
        told += 1
    except ConnectionError:  # Of very many at once not each is told.
        pass
assert told >= 16, told
print('refused', flush=True)
time.sleep(60)
PY
  eventually grep -q refused "$world/many"
  others_are_answered
  as alice berth run -q -m 1G -- true
}

@test "what acts on a lease is refused to others, by its number and by its handle" {
  as alice berth reserve 10m -m 2G -n held
  local handle
  handle=$(as alice berth show held --json | command jq -r .handle)
  attack bob "$handle" <<'PY'
import sys
from attack import *
process = {'pid': os.getpid(), 'start_ticks': start_ticks(os.getpid())}
bodies = {'claim': process, 'join': process, 'exit': {'code': 0, 'leftovers': [process]},
          'park': {'parked': True}, 'checkpointed': {'number': 1, 'outcome': 'saved'},
          'resize': {'vram_bytes': MIB}, 'renew': {'ttl_ms': 1}, 'progress': {'done': 1},
          'edit': {'priority': 'low'}, 'release': {'kill': True}, 'move': {'devices': [0]}}
tried = 0
for path, verbs in ask('GET', '/v1/openapi.json')[1]['paths'].items():
    if 'post' not in verbs or '/leases/{' not in path:
        continue
    verb = path.rpartition('/')[2]
    if verb == 'message':
        continue  # Anybody may ask: messages.bats.
    for lease in [sys.argv[1]] + ([] if '{handle}' in path else ['1', 'held']):
        said = ask('POST', f'/v1/leases/{lease}/{verb}', bodies.get(verb, {}))
        assert said[0] == 403, (verb, lease, said)
        tried += 1
assert tried >= 30, tried
for target in '/v1/daemon/stop', '/v1/daemon/reload', '/v1/alerts/any/test':
    said = ask('POST', target, {})
    assert said[0] == 403, (target, said)
assert ask('GET', '/v1/leases/' + sys.argv[1][:6])[0] == 404  # Not by first letters.
PY
  [[ $(as alice berth show held --json | command jq -r '.state, .vram_granted_bytes, .ttl_ms') == held*2147483648* ]]
}

@test "no answer tells others what is a user's own" {
  as alice bash -c 'exec berth run -m 1G -n train -- bash -c "sleep 60; : COMMANDLINE"' \
    >/dev/null 2>&1 3>&- &
  eventually eval '[[ $(as alice berth show train --json 2>/dev/null | command jq -r .state) == held ]]'
  local handle
  handle=$(as alice berth show train --json | command jq -r .handle)
  attack alice "$handle" <<'PY'
import sys
from attack import *
said = ask('POST', f'/v1/leases/{sys.argv[1]}/progress', {'done': 1, 'total': 2, 'note': 'PROGRESSNOTE'})
assert said[0] == 200, said
PY
  as alice berth reserve 10m -m 1G -n over
  as alice berth release over
  cat >"$world/build/bin/all_told.py" <<'PY'
from attack import *
told = ''
for path, verbs in ask('GET', '/v1/openapi.json')[1]['paths'].items():
    if 'get' not in verbs or 'openapi' in path:
        continue
    if path == '/metrics':  # Text.
        one = connect()
        one.sendall(b'GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n')
        while more := one.recv(65536):
            told += more.decode()
        continue
    if path.endswith('events') and 'history' not in path:
        one = connect()
        one.sendall(f'GET {path.replace("{ref}", "1")} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        one.settimeout(0.5)
        try:
            while more := one.recv(65536):
                told += more.decode()
        except TimeoutError:
            continue
    for query in '', '?all=1', '?of=lease', '?of=process', '?user=60001', '?lease=1':
        told += json.dumps(ask('GET', path.replace('{ref}', '1').replace('{handle}', '1') + query))
PY
  attack alice >"$world/hers" <<<'from all_told import told; print(told)'
  attack bob >"$world/others" <<<'from all_told import told; print(told)'
  local secret
  for secret in COMMANDLINE PROGRESSNOTE "$handle"; do
    grep -q "$secret" "$world/hers" || { echo "she does not see $secret" >&2; return 1; }
    fails grep -o ".\{80\}$secret" "$world/others"
  done
  grep -q train "$world/others"
}

@test "a connection that was passed on, and a pid that is another's, are refused" {
  as alice berth reserve 10m -m 1G -n held
  as alice bash -c 'echo $$ >hers; exec sleep 60' 3>&- &
  eventually test -s "$world/home.alice/hers"
  local hers=$(<"$world/home.alice/hers") handle
  eventually eval '[[ $(cat "/proc/$hers/comm") == sleep ]]'
  handle=$(as alice berth show held --json | command jq -r .handle)
  # Alice's connection, which a process of bob's has inherited.
  inside env PYTHONPATH="$world/build/bin" /usr/bin/python3 -B - "$handle" <<'PY'
import sys
from attack import *
os.setgroups([60000])
os.setresgid(60001, 60001, 0)
os.setresuid(60001, 60001, 0)
passed = Client()
if os.fork() == 0:
    os.setresuid(0, 0, 0)
    os.setresuid(60002, 60002, 60002)
    status, said = passed.ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000}, hello_of(os.getpid()))
    assert (status, said['error']['code']) == (403, 'wrong_process'), (status, said)
    os._exit(0)
assert os.wait()[1] == 0
PY
  attack bob "$hers" <<'PY'
import sys
from attack import *
pid = int(sys.argv[1])
hers = {'pid': pid, 'start_ticks': start_ticks(pid)}
status, said = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000}, hello_of(pid))
assert (status, said['error']['code']) == (403, 'wrong_process'), (status, said)
status, own = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000})
assert status == 201, own
for wrong in hers, dict(hers, start_ticks=1), {'pid': 1, 'start_ticks': start_ticks(1)}:
    status, said = ask('POST', f'/v1/leases/{own["handle"]}/join', wrong)
    assert status >= 400, said
status, said = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'ancestors': [1]})
assert status == 403 and "another user" in said['error']['message'], (status, said)
assert ask('POST', f'/v1/leases/{own["handle"]}/cancel', {})[0] == 200
PY
  kill -0 "$hers"
}

@test "streams that nobody reads stop at a bound, and others hear what happens" {
  local before
  others_are_answered
  before=$(peak)
  attack bob >"$world/deaf" 3>&- <<'PY' &
from attack import *
text = b'GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n'
deaf = [connect() for _ in range(65)]
for one in deaf:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.sendall(text)
status, said = Client(deaf[64]).answer()
assert (status, said['error']['code']) == (429, 'too_many'), (status, said)
labels = {f'{i}' * 60: 'x' * 64 for i in range(10)}
for _ in range(300):
    status, made = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'labels': labels})
    assert status == 201, made
    assert ask('POST', f'/v1/leases/{made["id"]}/cancel', {})[0] == 200
print('done', flush=True)
time.sleep(60)
PY
  attack alice <<'PY'
from attack import *
listens = Client()
listens.connection.sendall(b'GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n')
listens.until(b'\r\n\r\n')
status, made = ask('POST', '/v1/leases', {'vram_bytes': MIB, 'ttl_ms': 60000, 'name': 'mine'})
assert status == 201, made
listens.until(b'"name":"mine"')
PY
  patience=60 eventually grep -q done "$world/deaf"
  others_are_answered
  peak_within "$before" 65536
}

@test "leases as large as they may be are listed to others in time" {
  local before
  others_are_answered
  before=$(peak)
  attack bob >"$world/large" 3>&- <<'PY' &
from attack import *
largest = {'vram_bytes': 15 << 30, 'ttl_ms': 600000, 'name': 'n' * 64, 'session': 's' * 64,
           'command': 'c' * 4096, 'labels': {f'{i:02}' + 'k' * 60: 'v' * 64 for i in range(16)}}
askers = []
for i in range(257):
    askers.append(Client())
    status, said = askers[-1].ask('POST', '/v1/leases', largest)
    assert status == 201, (i, said)
status, said = ask('POST', '/v1/leases', largest)
assert (status, said['error']['code']) == (429, 'queue_full'), (status, said)
print('done', flush=True)
time.sleep(60)
PY
  patience=30 eventually grep -q done "$world/large"
  as alice berth ps >/dev/null
  as alice berth queue >/dev/null
  others_are_answered
  peak_within "$before" 65536
}

@test "a user who asks about the past at all times keeps nobody from it" {
  attack bob >"$world/past" 3>&- <<'PY' &
from attack import *
askers = [connect() for _ in range(100)]
print('asking', flush=True)
end = time.monotonic() + 30
while time.monotonic() < end:
    for one in askers:
        one.sendall(b'GET /v1/history HTTP/1.1\r\nHost: x\r\n\r\n')
    for one in askers:
        Client(one).answer()
PY
  eventually grep -q asking "$world/past"
  attack alice <<'PY'
from attack import *
waits(10, target='/v1/history')
PY
}

@test "names of GPUs are connected to in vain" {
  attack carol <<'PY'
from attack import *
names = {line.split()[-1] for line in open('/proc/net/unix') if '@berth/1/' in line}
assert names, open('/proc/net/unix').read()
for _ in range(3000):
    for name in names:
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        try:
            one.connect('\0' + name[1:])
        except OSError:
            pass
        one.close()
PY
  others_are_answered
}

@test "the socket is closed to who is not in its group" {
  run as carol berth status
  status_is 77
  run as carol bash -c 'rm -f "$BERTH_SOCKET" || ln -sf /dev/null "${BERTH_SOCKET%/*}/berthd.leases"'
  contains "Permission denied"
}
