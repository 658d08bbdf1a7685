#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Requests that no client of ours sends: each gets a clear answer, the daemon lives, and
# the lease that was held before is held after.
load lib

setup() {
  world_up
  berth reserve 1h -q -m 8G -n kept
  pid=$(berth daemon status --json | jq .pid)
  socket=$(berth daemon status --json | jq -r .socket)
}
teardown() {
  local red=0
  [[ $(berth daemon status --json | jq .pid) == "$pid" ]] || red=1
  [[ $(berth ps kept --no-header -o tsv --fields state,vram_granted_bytes 2>/dev/null) == $'held\t8589934592' ]] ||
    red=1
  world_down || red=1
  return "$red"
}

# ask METHOD PATH [CURL-OPTION...]: sets $code and $output.
ask() {
  output=$(curl -sS --max-time 20 --unix-socket "$socket" -X "$1" -w '\n%{http_code}' "${@:3}" \
    "http://localhost$2") || return
  code=${output##*$'\n'}
  output=${output%$'\n'*}
}
# answered HTTP-STATUS CODE PART: of the message.
answered() {
  [[ $code == "$1" && $(jq -r .error.code <<<"$output") == "$2" && $output == *"$3"* ]] || {
    printf 'wanted: %s %s %s\nfound:  %s %s\n' "$@" "$code" "$output" >&2
    return 1
  }
}
# raw: what stdin is answered with, up to the end of the connection or of 20 s.
raw() {
  /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
try:
    s.sendall(sys.stdin.buffer.read())
    s.shutdown(socket.SHUT_WR)
except OSError:
    pass
answer = b""
try:
    while part := s.recv(65536):
        answer += part
except OSError:
    pass
sys.stdout.buffer.write(answer)' "$socket"
}

@test "malformed requests" {
  for text in 'GET\r\n\r\n' 'GET /v1/status HTTP/9.9\r\n\r\n' '\x16\x03\x01\x02\x00' 'hello\n\n' \
    'GET /v1/status HTTP/1.1\r\nContent-Length: -5\r\n\r\n' \
    'GET /v1/status HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde' \
    'GET /v1/status HTTP/1.1\r\nno colon\r\n\r\n' 'GET no-slash HTTP/1.1\r\n\r\n'; do
    # shellcheck disable=SC2059
    run raw < <(printf "$text")
    [[ $output == "HTTP/1.1 4"* || $output == "HTTP/1.1 5"* ]] || { echo "$text: $output"; return 1; }
    contains '"error"'
  done
}

@test "bodies that are no JSON, or not of a request" {
  while IFS='|' read -r body wanted part; do
    ask POST /v1/leases -d "$body"
    answered 400 "$wanted" "$part"
  done <<'ROWS'
{|bad_request|JSON
[]|bad_request|object
"8G"|bad_request|object
{"vram_bytes":1}x|bad_request|JSON
{"vram_bytes":1,"vram_bytes":2}|bad_request|twice
{"vram_bytes":"8G"}|bad_request|vram_bytes
{"vram_bytes":-1}|bad_request|whole number from 1
{"vram_bytes":0}|bad_request|whole number from 1
{"vram_bytes":1.5}|bad_request|whole number from 1
{"vram_bytes":18446744073709551616}|bad_request|whole number from 1
{"vram_bytes":1,"wait_ms":-1}|bad_request|wait_ms
{"vram_bytes":1,"limit_ms":0}|bad_request|limit_ms
{"vram_bytes":1,"eta_ms":9223372036854775808}|bad_request|eta_ms
{"vram_bytes":1,"device_count":17}|invalid|from 1 to 16
{"vram_byts":1}|unknown_field|vram_bytes
{"vram_bytes":1,"name":"7up"}|invalid|7up
ROWS
  ask POST /v1/leases --data-binary $'{"name":"\xff\xfe"}'
  answered 400 bad_request "byte 10"
  ask POST /v1/leases -d "$(printf '[%.0s' {1..40})"
  answered 400 bad_request ""
}

@test "what cannot be, or asks for more than there is" {
  ask POST /v1/leases -d '{"vram_bytes":1073741824,"share":"slice","device_count":2}'
  answered 400 invalid "on one GPU"
  ask POST /v1/leases -d '{"ttl_ms":60000,"vram_bytes":1073741824,"may_yield":true}'
  answered 400 invalid "no programs"
  ask POST /v1/leases -d '{"vram_bytes":4611686018427387904}'
  answered 422 never_fits "the largest budget that can be granted is 15.5 GiB"
  ask POST /v1/leases -d '{"vram_bytes":1073741824,"devices":[7]}'
  answered 503 no_device "there is no GPU 7 here"
}

@test "oversized bodies, paths and headers are told the bound" {
  head -c 65537 /dev/zero | tr '\0' ' ' >body
  ask POST /v1/leases --data-binary @body
  answered 413 too_large "64"
  ask GET "/v1/leases/$(printf 'x%.0s' {1..3000})"
  [[ $code == 413 || $code == 414 ]]
  ask GET /v1/status -H "X-Much: $(head -c 100000 /dev/zero | tr '\0' x)" || code=cut
  [[ $code == 4?? || $code == cut ]]
  # What is at the bound is read, and is wrong in another way.
  printf '{"name":"%s"}' "$(head -c 60000 /dev/zero | tr '\0' n)" >body
  ask POST /v1/leases --data-binary @body
  [[ $code == 400 ]]
}

@test "paths, methods and parameters that there are not, with the nearest" {
  ask GET /v1/statsu
  answered 404 not_found ""
  ask DELETE /v1/leases/1
  answered 405 method_not_allowed ""
  ask GET /v1/leases?al=1
  answered 400 unknown_field "'al'"
  ask POST /v1/leases/99/release -d '{}'
  answered 404 not_found "99"
}

@test "other versions, another world, another process: each with the cure" {
  world_name=$BERTH_SIM_NAME
  ask GET /v1/status -H "Berth-Hello: api=2.0; version=9.9; world=$world_name; pid=1; start=1"
  answered 426 version "9.9"
  ask GET /v1/status -H "Berth-Hello: api=1.7; version=1.7; world=$world_name; pid=1; start=1"
  answered 426 version "restart the daemon"
  ask GET /v1/status -H "Berth-Hello: api=1.0; version=0.1.0; world=real"
  answered 409 wrong_world "BERTH_SIM"
  ask POST /v1/leases -H "Berth-Hello: api=1.0; version=0.1.0; world=$world_name; pid=1; start=1"
  answered 403 wrong_process "PID namespace"
  ask GET /v1/status -H "Berth-Hello: rubbish"
  answered 400 bad_request ""
}

@test "half-sent requests are forgotten, and nobody waits for them" {
  # Each is left open until the end of the test.
  /usr/bin/python3 - "$socket" 3>&- >half 2>&1 <<'PY' &
import socket, sys, time
open_ones = []
for text in (b'', b'G', b'POST /v1/leases HTTP/1.1\r\n',
             b'POST /v1/leases HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"vram_bytes":') * 10:
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(text)
    open_ones.append(s)
print('sent', flush=True)
time.sleep(1000)
PY
  half=$!
  eventually grep -q sent half
  ask GET /healthz
  [[ $code == 200 ]]
  run berth run -q -m 1G -- echo served
  [[ $output == served ]]
  kill "$half"
  [[ $(berth ps -q) == 1 ]]
}

@test "a request that comes too slowly is told so, also if it drips on" {
  /usr/bin/python3 - "$socket" 3>&- <<'PY'
import select, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
begin = time.monotonic()
answer = b''
try:
    for byte in b'GET /v1/status HTTP/1.1\r\n' + b'X-Slow: ' + b'x' * 1000:
        s.sendall(bytes([byte]))
        if select.select([s], [], [], 0.1)[0]:
            break
    answer = s.recv(65536)
except OSError as error:
    sys.exit(f'{error} after {time.monotonic() - begin} s')
assert answer.startswith(b'HTTP/1.1 408'), answer
assert b'"timeout"' in answer, answer
assert time.monotonic() - begin > 5, 'a slow client has some seconds'
PY
}

@test "a client that never reads, and one that hangs up at once, costs nobody anything" {
  /usr/bin/python3 - "$socket" 3>&- <<'PY'
import socket, sys
for i in range(200):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b'GET /v1/status HTTP/1.1\r\n\r\n' * 20)
    s.close()
PY
  ask GET /healthz
  [[ $code == 200 ]]
}
