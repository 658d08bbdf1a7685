#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The exit statuses of docs/cli.md, apart from those of `run` and `wait`.
load lib

# answers STATUS HEADER BODY: a listener at $world/fake that gives each request this answer.
answers() {
  /usr/bin/python3 - "$world/fake" "$@" 3>&- <<'PY' &
import socket, sys
path, status, header, body = sys.argv[1:5]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
while True:
    connection, _ = listener.accept()
    while connection.recv(65536):
        connection.sendall(f'HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{header}'
                           f'Content-Length: {len(body)}\r\n\r\n{body}'.encode())
    connection.close()
PY
  fake=$!
  eventually test -S "$world/fake"
  export BERTH_SOCKET=$world/fake
}
hello() { printf 'Berth-Hello: api=%s; version=9.9; world=%s; simulated=1; pid=1\r\n' "$1" "$2"; }
# The carriage return and the line feed at the end must survive.
answers_as() {
  local header=$(hello "$1" "$2" && echo .)
  answers "$3" "${header%.}" "$4"
}

@test "0: done" {
  for verb in "" status ps queue version --help "help why" "why --help" "completion bash"; do
    run berth $verb
    status_is 0
  done
}

@test "1: understood, and failed: what has ended cannot be cancelled" {
  run berth run -m 1G -- true
  eventually state_is 1 ended
  run berth cancel 1
  status_is 1
}

@test "64: an unknown verb or option, with the nearest one" {
  run berth stauts
  status_is 64
  contains 'unknown verb "stauts"; did you mean "status"?'
  run berth ps --jsn
  status_is 64
  contains 'unknown option --jsn; did you mean --json?'
  run berth frobnicate
  status_is 64
  run berth show
  status_is 64
  contains "missing LEASE"
  run berth ps -o jsn
  status_is 64
  contains 'did you mean "json"?'
  run berth ps --csv --fields vram_used
  status_is 64
  contains "did you mean vram_used_bytes?"
  run berth resize 1 -m 8Q
  status_is 64
  run berth --colour
  status_is 64
}

@test "66: no such lease, no such file" {
  run berth show 99
  status_is 66
  run berth why nobody-is-called-so
  status_is 66
  run berth config check "$world/none.toml"
  status_is 66
}

@test "69: no daemon" {
  run berth ps --no-autostart
  status_is 69
  contains "no daemon runs here"
  contains "berth daemon start"
  run env BERTH_NO_AUTOSTART=1 berth ps
  status_is 69
  run berth daemon status
  status_is 69
}

@test "73: the runtime directory cannot be used" {
  mkdir -p "$world/run/sim/$BERTH_SIM_NAME"
  chmod 0755 "$world/run/sim/$BERTH_SIM_NAME"
  run berth ps
  status_is 73
  contains "$world/run/sim"
}

@test "74: the output cannot be written" {
  berth daemon start
  run bash -c 'berth ps --json >/dev/full'
  status_is 74
  contains "cannot write to standard output: No space left on device"
  run bash -c 'berth --help >/dev/full'
  status_is 74
}

@test "75: not now" {
  berth run -m 8G -- sleep 60 3>&- &
  eventually held
  run berth resize 1 -m 15872M
  status_is 0
  run berth resize 1 -m 100G
  [[ $status == 75 || $status == 64 ]]
}
held() { [[ $(berth ps 1 -o tsv --fields state --no-header 2>/dev/null) == held ]]; }

@test "76: a daemon of another version" {
  answers_as 2.0 "$BERTH_SIM_NAME" 200 '{}'
  run berth ps
  status_is 76
  contains 9.9
}

@test "76: something that is no daemon" {
  answers 200 "" "{}"
  run berth ps
  status_is 76
  contains "no berthd"
}

@test "76: an answer that is not understood" {
  answers_as 1.0 "$BERTH_SIM_NAME" 200 '{"items":17}'
  run berth ps
  status_is 76
}

@test "77: a daemon of another user is not believed" {
  ((UID == 0)) || skip "needs root, to be another user"
  chmod 0755 "$world"
  mkdir -m 0777 "$world/theirs"
  setpriv --reuid=65534 --clear-groups /usr/bin/python3 -c "
import socket, time
s = socket.socket(socket.AF_UNIX)
s.bind('$world/theirs/sock')
s.listen()
time.sleep(60)" 3>&- &
  eventually test -S "$world/theirs/sock"
  run env BERTH_SOCKET="$world/theirs/sock" berth ps
  status_is 77
}

@test "78: an invalid configuration, with line and column" {
  mkdir "$world/config/berth"
  printf '[client]\noutput = "jsn"\n' >"$world/config/berth/config.toml"
  run berth ps
  status_is 78
  contains "$world/config/berth/config.toml:2:10: client.output"
  contains "did you mean 'json'?"
}

@test "78: a daemon of another world" {
  answers_as 1.0 real 200 '{}'
  run berth ps
  status_is 78
  contains BERTH_SIM
}

@test "the error of a daemon ends with its own status" {
  while read -r code status; do
    rm -f "$world/fake"
    answers_as 1.0 "$BERTH_SIM_NAME" 409 "{\"error\":{\"code\":\"$code\",\"message\":\"why not\"}}"
    run berth ps
    status_is "$status"
    contains "berth: why not"
    kill "$fake" && wait "$fake" || true
  done <<'ROWS'
invalid 64
never_fits 64
ambiguous 64
not_supported 64
not_found 66
no_device 69
safe_mode 69
stopping 69
internal 70
disk_full 74
busy 75
queue_full 75
would_wait_for_each_other 75
version 76
not_yours 77
inside_lease 77
would_wait_on_itself 77
wrong_world 78
wrong_state 1
of_a_newer_daemon 1
ROWS
}
