# SPDX-License-Identifier: Apache-2.0
"""A client of the daemon's socket for those who mean harm: requests, raw bytes, and how long others
wait meanwhile. Tests say `from attack import *`."""
import json
import os
import socket
import time

MIB = 1 << 20


def connect():
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(30)
    made.connect(os.environ['BERTH_SOCKET'])
    return made


def start_ticks(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
        return int(file.read().rpartition(') ')[2].split()[19])


def hello_of(pid):
    return (f'Berth-Hello: api=1.0; version=0.1.0; world={os.environ["BERTH_SIM_NAME"]}; '
            f'pid={pid}; start={start_ticks(pid)}\r\n')


class Client:
    """One connection. What was read beyond an answer is kept for the next one."""

    def __init__(self, connection=None):
        self.connection = connection or connect()
        self.rest = b''

    def until(self, mark):
        while mark not in self.rest:
            more = self.connection.recv(1 << 16)
            if not more:
                raise ConnectionError(f'closed after {self.rest[-200:]!r}')
            self.rest += more
        text, _, self.rest = self.rest.partition(mark)
        return text

    def answer(self):
        """Status and content of the next one."""
        head = self.until(b'\r\n\r\n').decode()
        size = 0
        for line in head.split('\r\n')[1:]:
            name, _, value = line.partition(':')
            if name.lower() == 'content-length':
                size = int(value)
        while len(self.rest) < size:
            more = self.connection.recv(1 << 16)
            if not more:
                raise ConnectionError('closed inside of an answer')
            self.rest += more
        body, self.rest = self.rest[:size], self.rest[size:]
        return int(head.split(' ')[1]), json.loads(body) if body else None

    def ask(self, method, target, body=None, more=''):
        text = '' if body is None else json.dumps(body)
        framing = f'Content-Length: {len(text.encode())}\r\n' if method == 'POST' else ''
        self.connection.sendall(
            f'{method} {target} HTTP/1.1\r\nHost: x\r\n{more}{framing}\r\n{text}'.encode())
        return self.answer()


def ask(method, target, body=None, more=''):
    return Client().ask(method, target, body, more)


def waits(count, method='GET', target='/v1/status'):
    """How long each of so many questions took, in milliseconds, by rising length."""
    took = []
    for _ in range(count):
        begin = time.monotonic()
        status, answer = ask(method, target)
        assert status == 200, (status, answer)
        took.append((time.monotonic() - begin) * 1000)
    return sorted(took)


def send_some(connection, data, seconds):
    """As much as is taken of it in that time, without reading; how many bytes that were."""
    connection.setblocking(False)
    end, sent = time.monotonic() + seconds, 0
    while sent < len(data) and time.monotonic() < end:
        try:
            sent += connection.send(data[sent:sent + (1 << 16)])
        except BlockingIOError:
            time.sleep(0.01)
    connection.settimeout(30)
    return sent
