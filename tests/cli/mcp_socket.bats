#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth mcp --socket`: clients at a Unix socket, each as on stdin and stdout.
load lib

setup() {
  world_up
  berth mcp --socket "$world/agents.sock" 2>"$world/said" 3>&- &
  server=$!
  eventually test -S "$world/agents.sock"
}

teardown() {
  kill "$server" 2>/dev/null && wait "$server"
  world_down
}

# clients: the program on stdin, with At(): a client of the socket.
clients() {
  PYTHONPATH=$BATS_TEST_DIRNAME:$PYTHONPATH place=$world/agents.sock python3 -c 'from mcp_client import *
import os, signal, socket, subprocess, sys, time
class At(Client):
    def __init__(self):
        self.era, self.last, self.heard, self.capabilities = "modern", 0, b"", {}
        self.link = socket.socket(socket.AF_UNIX)
        self.link.connect(os.environ["place"])
        class Process: stdin, stdout = self.link.makefile("wb"), self.link.makefile("rb")
        self.process = Process
def leases(): return json.loads(subprocess.run(["berth", "ps", "--json"], capture_output=True, text=True).stdout)["items"]
exec(sys.stdin.read())' "$@"
}

@test "each client has a session of its own" {
  [[ $(stat -c %a "$world/agents.sock") == 600 ]]
  clients <<'PY'
one, other = At(), At()
assert one.call('gpu_acquire', memory='4G')['lease']['this_session']
[seen] = other.call('gpu_status')['leases']
assert seen['yours'] and not seen['this_session'], seen
said = other.call('gpu_control', lease=1, action='cancel')
assert 'another session' in said, said
assert one.call('gpu_release', lease=1)['lease']['state'] in ('releasing', 'ended')
PY
}

@test "what a client waits for is withdrawn when it hangs up, and when the server ends" {
  berth reserve 1h -q -m 14G
  clients "$server" <<'PY'
one, other = At(), At()
one.begin('tools/call', {'name': 'gpu_acquire', 'arguments': {'memory': '4G', 'max_wait_s': 40}})
other.begin('tools/call', {'name': 'gpu_acquire', 'arguments': {'memory': '5G', 'max_wait_s': 40}})
while len(leases()) < 3: time.sleep(0.05)
one.link.shutdown(socket.SHUT_RDWR)
while len(leases()) > 2: time.sleep(0.05)
os.kill(int(sys.argv[1]), signal.SIGTERM)
while len(leases()) > 1: time.sleep(0.05)
assert other.process.stdout.read() == b''
PY
  wait "$server"
  [[ ! -e $world/agents.sock ]]
}

@test "a server that is there already is named, and so are two ways at once" {
  run berth mcp --socket "$world/agents.sock"
  status_is 69
  contains "another server"
  contains "choose another path (--socket)"
  run berth mcp --socket "$world/another.sock" --http 0
  status_is 64
  contains "--socket and --http: one of them"
}

@test "more clients than it serves are told so, and the others are served on" {
  clients <<'PY'
first = At()
held = [At() for _ in range(140)]
time.sleep(0.5)
answers = []
for one in held[127:]:
    answers.append(one.hear(20)['error']['message'])
assert set(answers) == {'too many clients are served'}, answers
assert first.call('gpu_status')['gpus']
for one in held: one.link.shutdown(socket.SHUT_RDWR)
deadline = time.time() + 30
while True:
    try:
        assert At().call('gpu_status')['gpus']
        break
    except (EOFError, OSError):
        assert time.time() < deadline
        time.sleep(0.1)
PY
}
