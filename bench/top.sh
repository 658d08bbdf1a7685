#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `berth top` with 8 GPUs and 200 leases, whose figures change each second: its share of a core, its
# memory, what it sends to the terminal, and the daemon's share of a core with it.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=8x80GiB
export BERTH_SIM_NAME=bench-$$ LC_ALL=C.UTF-8
end() {
  berth daemon stop >/dev/null 2>&1 || true
  rm -rf "$world"
}
trap end EXIT
for _ in $(seq 200); do berth reserve -q 1h -m 2G >/dev/null; done
(for ((i = 0; i < 120; ++i)); do
  for gpu in 0 1 2 3 4 5 6 7; do
    berth-simctl utilization $gpu $((RANDOM % 100))
    berth-simctl unmanaged $gpu $((RANDOM % 900 + 1))MiB
  done
  sleep 1
done) &
changing=$!
python3 - <<'PY'
import fcntl, json, os, pty, select, struct, subprocess, termios, time

def row(name, value, unit, **more):
    print(json.dumps({'name': name, 'value': round(value, 3), 'unit': unit, **more}), flush=True)

def cpu_of(pid):
    fields = open(f'/proc/{pid}/stat', encoding='utf-8').read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

def read(end, seconds):
    count, deadline = 0, time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([end], [], [], left)[0]:
            count += len(os.read(end, 65536))
    return count

daemon = json.loads(subprocess.check_output(['berth', 'daemon', 'status', '--json']))['pid']
child, end = pty.fork()
if child == 0:
    time.sleep(0.1)
    os.execvpe('berth', ['berth', 'top'], os.environ | {'TERM': 'xterm-256color'})
fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 160, 0, 0))
read(end, 5)
seconds = 30
before, daemon_before = cpu_of(child), cpu_of(daemon)
sent = read(end, seconds)
row('top, 8 GPUs and 200 leases, share of a core', 100 * (cpu_of(child) - before) / seconds, '%',
    limit=1)
row('top, the daemon meanwhile', 100 * (cpu_of(daemon) - daemon_before) / seconds, '%')
rss = next(line for line in open(f'/proc/{child}/status', encoding='utf-8') if 'VmRSS' in line)
row('top, memory', int(rss.split()[1]) / 1024, 'MiB', limit=20)
row('top, sent to the terminal, 160 by 50', sent / seconds, 'B/s', limit=960)
os.write(end, b'q')
os.waitpid(child, 0)
PY
kill $changing
