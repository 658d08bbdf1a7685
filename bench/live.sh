#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looking on, with 8 GPUs and 200 leases, whose figures change each second: the daemon's share of a
# core with nobody, with 50 pages and with `berth top`; top's own share, with a tree of processes
# too, its memory, and what it sends to the terminal; and how long a scrape of /metrics takes.
set -euo pipefail
world=$(mktemp -d /tmp/berth-bench.XXXXXX)
mkdir -m 0700 "$world/run"
export BERTH_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state BERTH_SIM=8x80GiB
export BERTH_SIM_NAME=bench-$$ LC_ALL=C.UTF-8
changing=
end() {
  [[ -z $changing ]] || kill "$changing" 2>/dev/null || true
  berth daemon stop >/dev/null 2>&1 || true
  rm -rf "$world"
}
trap end EXIT
for _ in $(seq 200); do berth reserve -q 1h -m 2G >/dev/null; done
(for ((i = 0; i < 300; ++i)); do
  for gpu in 0 1 2 3 4 5 6 7; do
    berth-simctl utilization $gpu $((RANDOM % 100))
    berth-simctl unmanaged $gpu $((RANDOM % 900 + 1))MiB
  done
  sleep 1
done) &
changing=$!
python3 - <<'PY'
import fcntl, json, os, pty, select, socket, statistics, struct, subprocess, termios, time

def row(name, value, unit, **more):
    print(json.dumps({'name': name, 'value': round(value, 3), 'unit': unit, **more}), flush=True)

def cpu_of(pid):
    fields = open(f'/proc/{pid}/stat', encoding='utf-8').read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

def share(pid, before, seconds):
    return 100 * (cpu_of(pid) - before) / seconds

def read(ends, seconds):
    """Whatever comes from any of them in that time; how many bytes that is."""
    count, deadline = 0, time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        for end in select.select(ends, [], [], left)[0]:
            count += len(os.read(end, 1 << 20))
    return count

state = json.loads(subprocess.check_output(['berth', 'daemon', 'status', '--json']))
daemon = state['pid']

def asked(target):
    one = socket.socket(socket.AF_UNIX)
    one.connect(state['socket'])
    one.sendall(f'GET {target} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
    return one

SECONDS = 30
look = asked('/v1/live')  # Else nobody looks, and figures are not fresh.
read([look.fileno()], 5)
before = cpu_of(daemon)
read([look.fileno()], SECONDS)
one_page = share(daemon, before, SECONDS)
row('live, the daemon with one page', one_page, '%')
pages = [asked('/v1/live') for _ in range(49)] + [look]
ends = [page.fileno() for page in pages]
read(ends, 5)
before = cpu_of(daemon)
sent = read(ends, SECONDS)
row('live, the daemon with 50 pages', share(daemon, before, SECONDS), '%',
    against='live, the daemon with one page')
row('live, what 49 pages cost it', share(daemon, before, SECONDS) - one_page, '%', limit=2)
row('live, told to a page', sent / SECONDS / len(pages) / 1024, 'KiB/s')
for page in pages:
    page.close()

def scrape():
    begin = time.monotonic()
    one = asked('/metrics')
    text = b''
    while b'process_start_time_seconds ' not in text:
        text += one.recv(1 << 20)
    one.close()
    return (time.monotonic() - begin) * 1000, len(text)

scrapes = [scrape() for _ in range(101)]
row('metrics, a scrape with 200 leases, median of 101',
    statistics.median(took for took, _ in scrapes), 'ms', limit=5)
row('metrics, its size', scrapes[0][1] / 1024, 'KiB')

child, end = pty.fork()
if child == 0:
    time.sleep(0.1)
    os.execvpe('berth', ['berth', 'top'], os.environ | {'TERM': 'xterm-256color'})
fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 160, 0, 0))
read([end], 5)
before = cpu_of(child)
sent = read([end], SECONDS)
row('top, 8 GPUs and 200 leases', share(child, before, SECONDS), '%', limit=1)
rss = next(line for line in open(f'/proc/{child}/status', encoding='utf-8') if 'VmRSS' in line)
row('top, memory', int(rss.split()[1]) / 1024, 'MiB', limit=20)
row('top, sent to a terminal of 160 by 50', sent / SECONDS, 'B/s', limit=960)
programs = 'for i in $(seq 50); do vram_user --bytes 16MiB --hold 90s & done; wait'
run = subprocess.Popen(['berth', 'run', '-q', '-m', '24G', '--', 'bash', '-c', programs],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.write(end, b't')
read([end], 10)
before = cpu_of(child)
read([end], SECONDS)
row('top, with a tree of 200 leases and 50 processes', share(child, before, SECONDS), '%', limit=1)
run.terminate()
run.wait()
os.write(end, b'q')
os.waitpid(child, 0)
PY
