#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `daemon`, `version` and `config`.
load lib

pid_of_daemon() { berth daemon status --json 2>/dev/null | jq .pid; }
state_of() { berth ps "$1" --fields state --no-header -o tsv 2>/dev/null; }
# The process that adopted it may not have reaped it yet.
has_ended() { [[ ! -e /proc/$1 || $(<"/proc/$1/stat") == *") Z "* ]]; }
has_state() { [[ $(state_of "$1") == "$2" ]]; }

@test "start starts one, and a second start finds it" {
  run berth daemon start
  status_is 0
  contains "started the daemon"
  pid=$(pid_of_daemon)
  [[ $(<"/proc/$pid/comm") == berthd ]]
  run berth daemon start
  status_is 0
  contains "the daemon (pid $pid) runs already"
}

@test "status tells what the daemon says of itself" {
  berth daemon start
  run berth daemon status
  status_is 0
  contains "mode     user"
  contains "simulated (machine $BERTH_SIM_NAME)"
  contains "$world/run"
  contains "$world/state"
  run --separate-stderr berth daemon status --json
  jq -e '.schema == "berth/daemon/v1" and .pid > 1 and .mode == "user" and .simulated' <<<"$output"
}

@test "stop ends the daemon and leaves running jobs alone" {
  berth run -m 8G -n long -- sleep 60 3>&- &
  eventually has_state 1 held
  pid=$(pid_of_daemon)
  job=$(berth show 1 --json | jq .pid)
  run berth daemon stop
  status_is 0
  contains "the daemon (pid $pid) has stopped; programs that hold leases run on"
  has_ended "$pid"
  kill -0 "$job"
  berth daemon start
  [[ $(state_of 1) == held && $(berth show 1 --json | jq .pid) == "$job" ]]
}

@test "stop without a daemon does nothing, successfully" {
  run berth daemon stop
  status_is 0
  contains "no daemon runs here"
}

@test "reload takes the configuration anew, or keeps the old one and says where it is wrong" {
  mkdir "$world/config/berth"
  berth daemon start
  echo 'gpu.reserve = "2GiB"' >"$world/config/berth/config.toml"
  run berth daemon reload
  status_is 0
  [[ $(berth status --json | jq .devices[0].vram_reserve_bytes) == $((2 << 30)) ]]
  echo 'gpu.reserv = "1GiB"' >"$world/config/berth/config.toml"
  run berth daemon reload
  status_is 78
  contains "config.toml:1:5: gpu.reserv"
  rm "$world/config/berth/config.toml"
  [[ $(berth status --json | jq .devices[0].vram_reserve_bytes) == $((2 << 30)) ]]
}

@test "a reload by signal is written down as one by berth daemon reload is" {
  berth daemon start
  berth daemon reload
  kill -HUP "$(pid_of_daemon)"
  eventually eval 'berth daemon logs -n 50 | grep -q "reload by $(id -un): SIGHUP"'
  berth daemon logs -n 50 | grep -qE "reload by $(id -un)\$"
}

@test "a daemon whose log nobody reads answers all the same, and says what is missing" {
  mkfifo "$world/stderr"
  exec {held}<>"$world/stderr"
  berthd --foreground 2>"$world/stderr" {held}<&- 3>&- &
  eventually berth daemon status --no-autostart
  /usr/bin/python3 - "$world/stderr" <<'PY'
import os, sys
pipe = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
try:
    while True:
        os.write(pipe, b"x" * 512)
except BlockingIOError:
    pass
PY
  for _ in 1 2 3; do
    berth reserve 10m -m 1G -n full
    berth release full
  done
  run berth daemon status
  status_is 0
  cat "$world/stderr" >"$world/log" {held}<&- 3>&- &
  eventually eval 'berth daemon reload && grep -q "lines of this log are missing here" "$world/log"'
  eventually grep -q "reload by" "$world/log"
  exec {held}<&-
}

@test "whose requests come too fast waits a little longer, and no run fails for it" {
  mkdir "$world/config/berth"
  printf '[limits]\nrequests_per_second = 1\nrequests_at_once = 1\n' >"$world/config/berth/config.toml"
  berth daemon start
  /usr/bin/python3 - "$(berth daemon status --json 2>/dev/null | jq -r .socket)" <<'PY'
import json, socket, sys
body = json.dumps({"vram_bytes": 1 << 20, "ttl_ms": 1000})
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
request = f"POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
asked.sendall(((request + "\r\n" + body) * 19 + request + "Connection: close\r\n\r\n" + body).encode())
answers = asked.makefile().read()
assert "429" in answers and '"code":"too_fast"' in answers and '"retry_after_ms":' in answers, answers
PY
  local -a runs=()
  for _ in 1 2 3 4; do
    berth run -q -m 1G -- true 3>&- &
    runs+=($!)
  done
  local run
  for run in "${runs[@]}"; do wait "$run"; done
}

@test "logs shows what the daemon wrote" {
  run berth daemon logs
  status_is 66
  berth daemon start
  run berth daemon logs -n 5
  status_is 0
}

@test "version tells both versions, and starts no daemon" {
  run berth version
  status_is 0
  contains "berthd does not run here"
  [[ $(berth version --json | jq .daemon) == null ]]
  berth daemon start
  run berth version
  contains "API 1.0, pid $(pid_of_daemon), simulated GPU"
  [[ $(berth version --json | jq -r .daemon.api) == 1.0 ]]
  run berth --version
  status_is 0
}

@test "config show tells what holds, and where it was set" {
  mkdir "$world/config/berth"
  printf '# mine\n[policy]\norder = "fifo"\n' >"$world/config/berth/config.toml"
  run berth config show --origin
  status_is 0
  grep -Eq "policy.order +=.\"fifo\" +# $world/config/berth/config.toml:3" <<<"$output"
  grep -Eq 'gpu.reserve += "512MiB" +# built-in' <<<"$output"
  berth config show --json | jq -e '.items[] | select(.key == "policy.order").value == "\"fifo\""'
  run env BERTH_FORMAT=csv berth config show --origin -o table
  contains "# BERTH_FORMAT"
}

@test "config check says line and column of all that is wrong" {
  printf '[policy]\norder = "fifi"\n\n[gpu]\nreservw = 1\n' >bad.toml
  run berth config check bad.toml
  status_is 78
  contains "bad.toml:2:9: policy.order"
  contains "did you mean 'fifo'?"
  contains "bad.toml:5:1: gpu.reservw"
  run berth config check
  status_is 0
  chmod go+w bad.toml
  run berth config check bad.toml
  status_is 78
  contains "chmod go-w"
}

@test "config default prints a file that is in order and changes nothing" {
  berth config default >default.toml
  run berth config check default.toml
  status_is 0
  mkdir "$world/config/berth"
  before=$(berth config show)
  cp default.toml "$world/config/berth/config.toml"
  [[ $(berth config show) == "$before" ]]
  berth config schema | jq -e .properties.gpu
}

# dying: the socket of a daemon that is gone before it has answered, as after a kill -9.
dying() {
  mkdir -p -m 700 "${1%/*}"
  /usr/bin/python3 - "$1" 3>&- <<'PY' &
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
connection, _ = listening.accept()
connection.recv(1)
os.unlink(sys.argv[1])
listening.close()
connection.close()
PY
  eventually test -S "$1"
}

@test "a question to a daemon that dies is asked again of the next one" {
  berth ps
  socket=$(berth daemon status --json | jq -r .socket)
  berth daemon stop
  dying "$socket"
  run berth ps
  status_is 0
  contains "No leases."
  contains "started the daemon"
  berth daemon stop
  dying "$socket"
  run berth ps --no-autostart
  status_is 69
  contains "no daemon runs here"
}

@test "what changes something is not asked twice of a daemon that dies" {
  berth ps
  socket=$(berth daemon status --json | jq -r .socket)
  berth daemon stop
  dying "$socket"
  run berth daemon reload
  status_is 69
}

@test "start with an invalid configuration ends with 78 and names file, line and column" {
  printf '[policy]\nreserv = "1G"\n' >"$world/broken.toml"
  BERTH_CONFIG=$world/broken.toml run berth daemon start
  status_is 78
  contains "$world/broken.toml:2:1"
  [[ $output != *"did not start"* ]]
  run berth daemon status
  status_is 69
}

# Under cron, su or ssh XDG_RUNTIME_DIR is another one, or none.
@test "a daemon that listens elsewhere is found by the lock on the state directory" {
  unset BERTH_RUNTIME_DIR
  mkdir -m 0700 "$world/one" "$world/other"
  XDG_RUNTIME_DIR=$world/one berth daemon start
  pid=$(XDG_RUNTIME_DIR=$world/one berth version --json | jq .daemon.pid)
  export XDG_RUNTIME_DIR=$world/other
  run --separate-stderr berth version --json
  status_is 0
  [[ $(jq .daemon.pid <<<"$output") == null ]] # To look at versions starts none.
  run --separate-stderr berth ps --json
  status_is 0
  [[ $stderr == *"export BERTH_SOCKET=$world/one/berth/sim/$BERTH_SIM_NAME/berthd.sock"* ]]
  run berth run -m 1G -- true
  status_is 0
  BERTH_SOCKET=$world/one/berth/sim/$BERTH_SIM_NAME/berthd.sock run --separate-stderr \
    berth version --json
  [[ $(jq .daemon.pid <<<"$output") == "$pid" ]]
}

@test "a daemon that does not start says why, and whose words they are once" {
  mkdir -p "$XDG_CONFIG_HOME/berth"
  echo 'daemon.state_dir = "/proc/nowhere"' >"$XDG_CONFIG_HOME/berth/config.toml"
  run berth status
  status_is 69
  contains "berthd did not start: "
  [[ $output != *"did not start: berthd:"* ]]
}
