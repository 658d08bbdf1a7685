#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `berth top` on a terminal of its own: what stands on its screen, and what its keys do.
load lib

setup() {
  sim=2x16GiB world_up
  berth run -q -m 10G -n first -- vram_user --bytes 4GiB --busy 80% --hold forever &
  eventually state_is first held
  berth run -q -m 12G -n other -- vram_user --bytes 2GiB --hold forever &
  eventually state_is other held
}

# on_screen: the program on standard input, with Terminal and top().
on_screen() {
  PYTHONPATH=$(dirname "$BATS_TEST_FILENAME"):$PYTHONPATH python3 -c '
import os, subprocess, sys, time
from terminal_screen import Terminal
def top(columns, rows, *options, **environment):
    return Terminal(columns, rows, "berth", "top", *options, **environment)
def berth(*words):
    return subprocess.run(["berth", *words], capture_output=True, text=True, check=True).stdout
exec(sys.stdin.read())'
}

@test "what there is fits screens of all sizes, and another size is drawn anew" {
  on_screen <<'PY'
screen = top(60, 12)
for columns, rows in (60, 12), (80, 24), (120, 35), (200, 50), (300, 60), (80, 24):
    screen.resize(columns, rows)
    text = screen.wait('berth', 'first', 'other', 'held', 'GPU 0', 'GPU 1')
    lines = text.split('\n')
    assert lines[0].startswith(' berth') and 'free' in lines[0], text
    assert lines[rows - 1].endswith('? all  q quit'), text
    assert columns < 100 or 'COMMAND' in text, text
    assert rows < 24 or 'Events' in text, text
assert '38;5;68m' in screen.sent  # A hue.
screen.resize(50, 10)
screen.wait('berth top needs 60 columns and 12 lines; this has', '50 and 10.')
screen.resize(80, 24)
screen.wait('first')
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "a frame is what --once writes, with keys below" {
  on_screen <<'PY'
screen = top(120, 35)
screen.wait('80 % busy', ' 80 % ')
shown = [line for line in screen.text().split('\n')]
once = subprocess.run(['berth', 'top', '--once'], capture_output=True, text=True, check=True,
                      env=os.environ | {'COLUMNS': '120'}).stdout.split('\n')
assert '\x1b' not in ''.join(once)
# But for the time, ages and courses.
same = [line for line in once if line in shown]
assert len(same) >= len(once) // 2, '\n'.join(once) + '\n--\n' + '\n'.join(shown)
PY
}

@test "a lease is paused after a question, resumed, and ended" {
  on_screen <<'PY'
screen = top(120, 30)
screen.wait('first', 'other')
screen.keys('/first\r')
screen.wait('1  root/first', absent=['2  root/other'])
screen.keys('jp')
screen.wait('Pause 1 ', 'go to host memory', 'y pause')
assert '"held"' in berth('show', 'first', '--json')
screen.keys('n')
screen.wait('Nothing was done.')
screen.keys('py')
screen.wait('suspended', 'Pause 1: done.')
screen.keys('r')
screen.wait('Resume 1: done.', absent=['suspended  '])
screen.keys('xy')
screen.wait('End 1: done.')
assert '"ended"' in berth('show', 'first', '--json')
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "why, messages, details and help" {
  berth run -q -m 8G -n waits -- vram_user --bytes 1GiB --hold forever &
  eventually state_is waits waiting
  on_screen <<'PY'
screen = top(120, 40)
screen.wait('Queue 1', 'waits for memory')
screen.keys('\x1b[Fw')  # The last row.
screen.wait('waits', 'GPU 0')
screen.keys(' ')
screen.wait('Queue 1')
screen.keys('\x1b[Hmplease?\r')
screen.wait('Message 1: done.')
assert 'please?' in berth('show', 'first')
screen.keys('\r')
screen.wait('granted 10.0 GiB')
screen.keys(' ?')
screen.wait('Enter  all that is known of it')
screen.keys(' q')
assert screen.ended() == 0
PY
}

@test "a click chooses, and a view that cannot act says so" {
  on_screen <<'PY'
screen = top(100, 30, '--read-only')
text = screen.wait('first', 'other')
row = next(i for i, line in enumerate(text.split('\n')) if '/other' in line)
screen.keys(f'\x1b[<0;10;{row + 1}M')
screen.wait('›   2' if '›   2' in screen.text() else '› ')
assert any('›' in line and 'other' in line for line in screen.text().split('\n')), screen.text()
screen.keys('p')
screen.wait('This view cannot act (--read-only).')
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "it goes on with the next daemon" {
  on_screen <<'PY'
import json, signal
screen = top(100, 24)
screen.wait('first')
os.kill(json.loads(berth('daemon', 'status', '--json'))['pid'], signal.SIGKILL)
screen.wait('No connection since')
berth('status')
screen.wait('first', absent=['No connection'])
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "the terminal is as it was, however it ends" {
  on_screen <<'PY'
import signal, termios
for end in (lambda one: one.keys('q')), (lambda one: one.keys('\x03')), \
        (lambda one: os.kill(one.child, signal.SIGTERM)):
    screen = top(80, 24)
    screen.wait('first')
    assert screen.modes == {'1049', '1000', '1006'}, screen.modes
    assert not termios.tcgetattr(screen.end)[3] & termios.ICANON
    end(screen)
    # What it leaves is looked at while the other end is open.
    screen.ended()
    assert screen.modes == {'25'}, screen.modes
    assert screen.sent.endswith('\x1b[?25h\x1b[?1049l'), screen.sent[-40:]
PY
}

@test "without colours and letters beyond ASCII, and over a slow line" {
  on_screen <<'PY'
screen = top(80, 24, '--ascii', NO_COLOR='1')
screen.wait('first', '[##')
screen.read(3)
assert '38;5' not in screen.sent and screen.sent.isascii()
screen.sent = ''
screen.read(10)
# 9600 baud are 960 bytes a second.
assert len(screen.sent) < 10 * 960 / 4, len(screen.sent)
screen.keys('q')
assert screen.ended() == 0
PY
  [[ $(berth top --once --ascii) == *'[##'* ]]
  fails berth top </dev/null
  [[ $(berth top 2>&1 | cat) == *'--once writes one frame'* ]]
}

@test "colours are legible on the terminal's background, and what it answers is no key" {
  on_screen <<'PY'
light, dark = '38;5;25m', '38;5;68m'  # Of the first lease.
def coloured(screen, wanted, other):
    screen.wait('first', 'other', '█')
    assert wanted in screen.sent and other not in screen.sent, screen.sent
    screen.keys('q')
    assert screen.ended() == 0
white = '\x1b]11;rgb:ffff/ffff/ffff\x1b\\'
coloured(top(80, 24, answer=white + '\x1b[?62;22c'), light, dark)
coloured(top(80, 24, answer='\x1b]11;rgb:1e1e/1e1e/1e1e\x07\x1b[?6c'), dark, light)
coloured(top(80, 24, answer='\x1b[?6c'), dark, light)
coloured(top(80, 24, COLORFGBG='0;15'), light, dark)
coloured(top(80, 24, answer=white, COLORFGBG='15;0'), light, dark)
# One that lies, stops in the middle, and says too much: xy would end a lease.
screen = top(80, 24, answer='\x1b]11;rgb:xyxy')
screen.wait('first', 'other', '█')
screen.keys('\x1b[H')
screen.wait('› ')
screen.keys('\x1b]11;rgb:')
for piece in 'xyqxy', 'x' * 3000 + 'y', '\x1b', '\\', '\x1b[?6', '4;1':
    screen.keys(piece)
    assert screen.read(0.2)
screen.sent = ''
screen.keys('cj')
screen.wait('› ', absent=['Nothing was done', 'End ', 'y end'])
assert 'held' in berth('show', 'first') and light not in screen.sent
screen.keys('q')
assert screen.ended() == 0
# A slow one is heard when it comes.
screen = top(80, 24)
screen.wait('first', 'other', '█')
assert light not in screen.sent
for letter in white:
    screen.keys(letter)
    assert screen.read(0.06)
screen.wait('first')
assert light in screen.sent, screen.sent
# Behind the fence nothing is an answer.
screen.keys('\x1b[?62c')
assert screen.read(0.2)
screen.sent = ''
screen.keys('\x1b]11;rgb:0/0/0\x07j')
screen.wait('› ')
assert dark not in screen.sent, screen.sent
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "a terminal is not asked where nobody can answer, or no colour needs it" {
  on_screen <<'PY'
from terminal_screen import BACKGROUND
for screen in top(80, 24, '--once'), Terminal(80, 24, 'sh', '-c', 'berth top --once | cat'):
    assert screen.ended() == 0
    assert 'first' in screen.sent and '\x1b' not in screen.sent, screen.sent
for screen in top(80, 24, NO_COLOR='1'), top(80, 24, TERM='linux'):
    screen.wait('first')
    assert BACKGROUND not in screen.sent, screen.sent
    screen.keys('q')
    assert screen.ended() == 0
screen = top(80, 24, TERM='dumb')
assert screen.ended() == 64
assert '\x1b' not in screen.sent, screen.sent
screen = top(80, 24)
screen.wait('first')
assert screen.sent.count(BACKGROUND + '\x1b[c') == 1, screen.sent
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "a tree has the processes of each lease, and those without one" {
  berth run -q -m 3G -n shell -- bash -c 'vram_user --bytes 1GiB --hold forever & wait' &
  eventually state_is shell held
  local library
  library=$(dirname "$(command -v berth)")/../lib/simgpu
  LD_LIBRARY_PATH=$library vram_user --bytes 1GiB --hold forever 3>&- &
  eventually eval '[[ $(of shell "member_pids|length") == 1 ]]'
  eventually eval '[[ $(berth status --json) == *"\"name\":\"vram_user\""* ]]'
  on_screen <<'PY'
import json
def lines(screen):
    return [line.split() for line in screen.text().split('\n')]
shell = json.loads(berth('show', 'shell', '--json'))
screen = top(150, 40)
screen.wait('shell', '(unmanaged)')
screen.keys('t')
pid, child = str(shell['pid']), str(shell['member_pids'][0])
first = str(json.loads(berth('show', 'first', '--json'))['pid'])
# 1.3 GiB: what it took, and its CUDA context.
text = screen.wait(f'└ {pid} root', f'  └ {child} root', f'└ {first} root', '└ ', '1.3  ', '4.3  ',
                   absent=['(unmanaged)'])
rows = lines(screen)
at = next(i for i, row in enumerate(rows) if row[:2] == ['└', pid])
assert rows[at - 1][1] == 'root/shell' and rows[at][3] == 'bash', text
assert rows[at + 1][:4] == ['└', child, 'root', 'vram_user'], text
assert ' '.join(rows[at + 1][5:]) == '1.3 vram_user --bytes 1GiB --hold forever', text
busy = next(row for row in rows if row[:2] == ['└', first])
assert busy[4:8] == ['0', '4.3', '80', '%'], text
# Those without a lease stand below their GPU, last.
device = next(i for i, row in enumerate(rows) if row[:3] == ['GPU', '0', 'unmanaged'] or
              row[:3] == ['GPU', '1', 'unmanaged'])
assert device > at and rows[device + 1][0] == '└' and rows[device + 1][3] == 'vram_user', text
# A process that has ended goes, and one that comes is there at the next look.
os.kill(int(child), 9)
screen.wait('root/first', absent=[child])
screen.keys('t')
screen.wait('(unmanaged)', absent=['└'])
screen.keys('q')
assert screen.ended() == 0
PY
}

@test "the timeline has what ran, runs and is expected, and sets their counts" {
  berth run -q -m 1G -n before -- true
  printf 'true\nfalse\nsleep 600\nsleep 601\n' >commands
  berth run -q -m 2G -g 0, --limit 30m -n limited -- vram_user --bytes 1GiB --hold forever 3>&- &
  eventually state_is limited held
  berth submit -q -m 1G -g 1, --each commands -n sweep -- sh -c '{item}'
  berth run -q -m 5G -g 0, -n waits --eta 20m -- vram_user --bytes 1GiB --hold forever 3>&- &
  eventually state_is waits waiting
  on_screen <<'PY'
screen = top(80, 40)
screen.wait('first')
screen.keys('v')
text = screen.wait('Timeline', ' now ', 'root/waits', 'Sets 1', '1 ok  1 failed  2 run  0 wait',
                   '╌')
def bar(name):
    line = next(line for line in text.split('\n') if 'root/' + name + ' ' in line)
    return line.split(name + ' ')[1].strip()
assert bar('first') == '█│······' and bar('before') == '▓│', text
assert bar('limited').startswith('█│░░░░') and bar('waits').startswith('│  '), text
# It starts where the one ends that it waits for, and lasts 20 of its 30 minutes.
assert abs(len(bar('waits').rstrip('╌')) - len(bar('limited')) + 1) <= 1, text
assert 4 <= bar('waits').count('╌') < bar('limited').count('░'), text
screen.keys('v')
screen.wait('SESSION', absent=['Timeline'])
screen.resize(200, 40)
screen.wait('SESSION', 'Timeline', 'Sets 1', 'Queue', 'Events')
berth('cancel', 'first')
screen.wait('│ cancelled')
screen.keys('q')
assert screen.ended() == 0
PY
}
