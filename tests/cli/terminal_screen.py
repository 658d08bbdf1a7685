# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, and what stands on its screen: of the sequences that a
terminal knows, those that Berth and a shell send. Another sequence is an error."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

SEQUENCE = re.compile(r'\x1b\[([?0-9;]*)([A-Za-z])')
BACKGROUND = '\x1b]11;?\x1b\\'  # Which one there is.


class Terminal:
    """`answer`: what it sends when it is asked for its background."""
    def __init__(self, columns, rows, *command, answer='', **environment):
        self.columns, self.rows = columns, rows
        self.answer = answer
        self.sent = ''      # Since it was last looked at.
        self.modes = set()  # That are set: 1049, 1000, …
        self.style = ''     # Parameters of SGR, of what is written next.
        self.status = None
        self.clear()
        self.child, self.end = pty.fork()
        if self.child == 0:
            os.environ.pop('COLUMNS', None)
            os.environ.update({'TERM': 'xterm-256color'} | environment)
            time.sleep(0.05)  # Until the terminal has its size.
            os.execvp(command[0], command)
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.end)

    def clear(self):
        self.cells = [[' '] * self.columns for _ in range(self.rows)]
        self.styles = [[''] * self.columns for _ in range(self.rows)]
        self.at = (0, 0)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.clear()
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def keys(self, text):
        os.write(self.end, text.encode())

    def read(self, seconds):
        """Shows what comes in that time. False: the program has ended."""
        deadline = time.monotonic() + seconds
        data = b''
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self.end], [], [], left)[0]:
                break
            try:
                more = os.read(self.end, 65536)
            except OSError:
                more = b''
            if not more:
                self.show(data.decode())
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
                return False
            data += more
        self.show(data.decode(errors='ignore'))
        return True

    def show(self, text):
        self.sent += text
        while text:
            if text.startswith(BACKGROUND):
                self.keys(self.answer)
                text = text[len(BACKGROUND):]
                continue
            found = SEQUENCE.match(text)
            if found:
                self.control(*found.groups())
                text = text[found.end():]
                continue
            assert text[0] not in '\x1b', f'what is this? {text[:20]!r}'
            self.put(text[0])
            text = text[1:]

    def control(self, parameters, letter):
        row, column = self.at
        number = int(parameters) if parameters.isdigit() else 1
        if letter == 'H':
            at = [int(one) for one in parameters.split(';')] if parameters else [1, 1]
            assert at[0] <= self.rows and at[1] <= self.columns, at
            self.at = (at[0] - 1, at[1] - 1)
        elif letter == 'J' and parameters == '2':
            self.clear()
        elif letter in 'JK':
            self.erase(row, column)
            for below in range(row + 1, self.rows) if letter == 'J' else ():
                self.erase(below, 0)
        elif letter in 'ABCD':
            down, right = {'A': (-1, 0), 'B': (1, 0), 'C': (0, 1), 'D': (0, -1)}[letter]
            self.at = (max(0, row + down * number), max(0, column + right * number))
        elif letter in 'hl' and parameters.startswith('?'):
            (self.modes.add if letter == 'h' else self.modes.discard)(parameters[1:])
        elif letter == 'c':
            assert BACKGROUND + '\x1b[c' in self.sent  # Its answer is part of `answer`.
        else:
            assert letter == 'm', (parameters, letter)
            self.style = '' if parameters in ('', '0') else parameters

    def erase(self, row, column):
        for i in range(column, self.columns):
            self.cells[row][i], self.styles[row][i] = ' ', ''

    def put(self, letter):
        row, column = self.at
        if letter in '\r\n\b\a':
            self.at = {'\r': (row, 0), '\n': (row + 1, column), '\b': (row, max(0, column - 1)),
                       '\a': (row, column)}[letter]
            self.scroll()
            return
        width = 2 if unicodedata.east_asian_width(letter) in 'WF' else 1
        if column + width > self.columns:
            # A shell's line goes on in the next; berth top never writes beyond the edge.
            assert '1049' not in self.modes, f'beyond the edge of row {row}: {letter}'
            self.at = (row + 1, 0)
            self.scroll()
            row, column = self.at
        self.cells[row][column], self.styles[row][column] = letter, self.style
        self.at = (row, column + width)

    def scroll(self):
        while self.at[0] >= self.rows:
            self.cells = self.cells[1:] + [[' '] * self.columns]
            self.styles = self.styles[1:] + [[''] * self.columns]
            self.at = (self.at[0] - 1, self.at[1])

    def text(self):
        return '\n'.join(''.join(row).rstrip() for row in self.cells)

    def wait(self, *wanted, absent=(), seconds=15):
        """Until all of that stands on the screen, and nothing of `absent`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(0.05)
            text = self.text()
            if all(one in text for one in wanted) and not any(one in text for one in absent):
                return text
        sys.exit(f'not there: {wanted}, or still there: {absent}:\n{self.text()}')

    def ended(self, seconds=10):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self.read(0.1):
                return self.status
        os.kill(self.child, signal.SIGKILL)
        sys.exit(f'it does not end:\n{self.text()}')
