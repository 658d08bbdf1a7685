#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `berth mcp`: from the start to the answer to `initialize`, its memory, and a call of gpu_status
# with eight leases held, over stdio. Beside them the same question at the daemon's socket, and a
# server of the protocol that does nothing, in Python.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=2x64GiB
export BERTH_SIM_NAME=bench-$$ TMPDIR=$world
end() {
  berth daemon stop >/dev/null 2>&1 || true
  rm -rf "$world"
}
trap end EXIT
for _ in $(seq 8); do berth reserve -q 1h -m 4G >/dev/null; done
socket=$(berth daemon status --json | jq -r .socket)
cat >"$world/nothing.py" <<'PY'
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if 'id' in message:
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': {}}), flush=True)
PY
python3 - "$socket" "$world/nothing.py" <<'PY'
import json, socket, subprocess, sys, time

def row(name, value, unit, **more):
    print(json.dumps({'name': name, 'value': round(value, 3), 'unit': unit, **more}), flush=True)

def median(values): return sorted(values)[len(values) // 2]
def p99(values): return sorted(values)[len(values) * 99 // 100]

class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask('initialize', {'protocolVersion': '2025-11-25', 'capabilities': {},
                                'clientInfo': {'name': 'bench', 'version': '1'}})
    def ask(self, method, params):
        self.process.stdin.write(json.dumps(
            {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}).encode() + b'\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())
    def close(self):
        self.process.stdin.close()
        self.process.wait()

def started(*words):
    times = []
    for _ in range(30):
        begun = time.perf_counter()
        server = Server(*words)
        times.append((time.perf_counter() - begun) * 1e3)
        server.close()
    return median(times)

row('MCP start of a server in Python that does nothing', started('python3', sys.argv[2]), 'ms')
row('MCP start', started('berth', 'mcp'), 'ms', limit=30,
    against='MCP start of a server in Python that does nothing')

link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
def at_socket():
    link.sendall(b'GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n')
    text = b''
    while b'\r\n\r\n' not in text: text += link.recv(1 << 16)
    head, _, body = text.partition(b'\r\n\r\n')
    size = int(head.lower().partition(b'content-length:')[2].split(b'\r\n')[0])
    while len(body) < size: body += link.recv(1 << 16)

def timed(act):
    times = []
    for _ in range(2000):
        begun = time.perf_counter()
        act()
        times.append((time.perf_counter() - begun) * 1e3)
    return times

server = Server('berth', 'mcp')
initialized = {'jsonrpc': '2.0', 'method': 'notifications/initialized'}
server.process.stdin.write(json.dumps(initialized).encode() + b'\n')
def gpu_status():
    answer = server.ask('tools/call', {'name': 'gpu_status', 'arguments': {}})
    assert len(answer['result']['structuredContent']['leases']) == 8, answer
gpu_status()
direct, called = timed(at_socket), timed(gpu_status)
row('status at the socket, p99', p99(direct), 'ms')
row('gpu_status, median', median(called), 'ms')
row('gpu_status, p99', p99(called), 'ms', limit=5, against='status at the socket, p99')
with open(f'/proc/{server.process.pid}/smaps_rollup', encoding='ascii') as file:
    kept = {line.split()[0]: line.split()[1] for line in file}
row('MCP server, resident', int(kept['Rss:']) / 1024, 'MiB', limit=15)
row('MCP server, its share', int(kept['Pss:']) / 1024, 'MiB')
server.close()
PY
