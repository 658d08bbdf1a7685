# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, and what stands on its screen: of the sequences that a
terminal knows, those that berth top sends. Another sequence is an error."""
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


class Terminal:
    def __init__(self, columns, rows, *command, **environment):
        self.columns, self.rows = columns, rows
        self.sent = ''      # Since it was last looked at.
        self.modes = set()  # That are set: 1049, 1000, …
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
            found = SEQUENCE.match(text)
            if found:
                self.control(*found.groups())
                text = text[found.end():]
                continue
            assert text[0] not in '\x1b', f'what is this? {text[:20]!r}'
            self.put(text[0])
            text = text[1:]

    def control(self, parameters, letter):
        if letter == 'H':
            row, column = (int(number) for number in parameters.split(';'))
            assert row <= self.rows and column <= self.columns, (row, column)
            self.at = (row - 1, column - 1)
        elif letter == 'J' and parameters == '2':
            self.clear()
        elif letter in 'hl' and parameters.startswith('?'):
            (self.modes.add if letter == 'h' else self.modes.discard)(parameters[1:])
        else:
            assert letter == 'm', (parameters, letter)

    def put(self, letter):
        if letter in '\r\n':
            return
        row, column = self.at
        width = 2 if unicodedata.east_asian_width(letter) in 'WF' else 1
        assert column + width <= self.columns, f'beyond the edge of row {row}: {letter}'
        self.cells[row][column] = letter
        self.at = (row, column + width)

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
