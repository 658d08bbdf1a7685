#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon's port, which every user of the machine can connect to, and its token.
load lib

before_daemon() {
  own_etc
  inside mkdir -m 0755 /etc/berth
  inside bash -c 'umask 022; printf "%s\n" "daemon.http = true" >/etc/berth/berth.toml'
}

setup() {
  machine_up
  port=$(as alice berth daemon status --json | jq -r '.http_address | ltrimstr("http://127.0.0.1:")')
}

# attack_port USER: as them, the program on stdin, with asked(PATH, TOKEN): status of the answer.
attack_port() {
  as "$1" env port="$port" state="$world/state" python3 -B -c '
import http.client, os, socket, sys, time
def asked(path, token=None, method="GET"):
    link = http.client.HTTPConnection("127.0.0.1", int(os.environ["port"]), timeout=20)
    link.request(method, path, None, {"Authorization": "Bearer " + token} if token is not None else {})
    return link.getresponse().status
exec(sys.stdin.read())'
}

@test "who is in no group of berth's reads nothing at the port, and guesses no token" {
  as alice berth reserve 1h -q -m 2G
  attack_port carol <<'PY'
for path in '/v1/status', '/v1/leases', '/v1/leases/1', '/v1/events', '/v1/openapi.json', '/metrics', '/../healthz', '/nothing':
    assert asked(path) == 401, path
for token in '', ' ', '0' * 64, 'x' * 8000, '*':
    assert asked('/v1/status', token) == 401, token
assert asked('/v1/leases/1/cancel', method='POST') == 401
try:
    open(os.environ['state'] + '/token')
    assert False, 'the token can be read'
except PermissionError: pass
PY
  # Those who are admitted at the socket are not by that admitted at the port.
  attack_port bob <<<'assert asked("/v1/status") == 401'
  as alice berth show 1 --json | jq -e '.state == "held"'
}

@test "who fills the port keeps nobody from the socket, and has it no longer than they ask" {
  local before
  before=$(peak)
  attack_port carol >"$world/carol" 2>&1 3>&- <<'PY' &
held = []
for i in range(1500):
    one = socket.socket()
    one.settimeout(20)
    one.connect(('127.0.0.1', int(os.environ['port'])))
    if i % 2:
        try: one.send(b'GET /v1/status HTTP/1.1\r\nX: ' + b'x' * 4000)
        except OSError: pass
    held.append(one)
print('full', flush=True)
until = time.time() + 60
while not os.path.exists('go') and time.time() < until: time.sleep(0.05)
PY
  eventually grep -q full "$world/carol"
  others_are_answered
  peak_within "$before" $((24 << 10))
  as carol touch go
  eventually port_answers
}

port_answers() {
  [[ $(curl -s -o /dev/null -w '%{http_code}' --max-time 5 "http://127.0.0.1:$port/healthz") == 200 ]]
}
