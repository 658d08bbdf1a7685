#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# daemon.http: the daemon's answers at a port of this machine, behind the door.
load lib
configure() { # configure LINE...: for the next daemon
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '%s\n' "$@" >"$XDG_CONFIG_HOME/berth/config.toml"
}

setup() {
  world_up
  configure 'daemon.http = true'
  berth status >/dev/null
  log=$(find "$world/state" -name berthd.log)
  port=$(berth daemon status --json | jq -r '.http_address | ltrimstr("http://127.0.0.1:")')
  token=$(dirname "$log")/token
}

# ask: the program on stdin, with get() and the port and token.
ask() {
  port=$port token=$(<"$token") python3 -c '
import http.client, json, os, sys
port, token = int(os.environ["port"]), os.environ["token"]
def get(path, method="GET", body=None, **headers):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    given = {"Authorization": "Bearer " + token, **{key.replace("_", "-"): value for key, value in headers.items()}}
    link.request(method, path, body, {key: value for key, value in given.items() if value})
    return link.getresponse()
exec(sys.stdin.read())' "$@"
}

@test "who has the token is answered as at the socket" {
  berth reserve 1h -q -m 2G
  ask <<'PY'
leases = json.loads(get('/v1/leases').read())['items']
assert [lease['id'] for lease in leases] == [1] and leases[0]['user'] == os.environ.get('USER', 'root'), leases
assert get('/v1/leases/1/cancel', 'POST', '{}', Content_Type='application/json').status == 200
PY
  eventually state_is 1 ended
  [[ $(stat -c %a "$token") == 600 ]]
  run berth daemon status
  contains "http://127.0.0.1:$port"
}

@test "news come at the port, too, beside those of the socket" {
  ask <<'PY'
import subprocess, threading
news = get('/v1/events', Accept='text/event-stream')
assert news.getheader('Content-Type') == 'text/event-stream'
threading.Timer(0.3, lambda: subprocess.run(['berth', 'run', '-q', '-m', '1G', '--', 'true'])).start()
while b'event: ended' not in news.readline(): pass
PY
}

@test "without the token, under another name or from another origin nobody is answered" {
  ask <<'PY'
assert get('/v1/status', Authorization=None).status == 401
assert get('/v1/status', Authorization='Bearer guessed').status == 401
assert get('/metrics', Authorization=None).status == 401
assert get('/healthz', Authorization=None).status == 200
assert get('/v1/status', Host='evil.example').status == 403
assert get('/healthz', Authorization=None, Host='evil.example').status == 403
assert get('/v1/status', Origin='http://evil.example').status == 403
assert get('/v1/leases', 'POST', 'vram=1', Content_Type='application/x-www-form-urlencoded').status == 415
assert get('/v1/status').status == 200
PY
}

@test "a port that is taken, or is none, is named" {
  configure 'daemon.http = true' "daemon.http_port = $port"
  run berthd --foreground --socket "$world/another.sock"
  status_is 69
  contains "another program has port $port"
  configure 'daemon.http_port = 65536'
  run berth status
  status_is 78
  contains "daemon.http_port"
}

@test "by default it listens at no port" {
  configure ''
  berth daemon stop
  : >"$log"
  berth status >/dev/null
  [[ $(berth daemon status --json | jq .http_address) == null ]]
  run grep -c "127.0.0.1" "$log"
  [[ $output == 0 ]]
}
