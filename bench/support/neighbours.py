# SPDX-License-Identifier: Apache-2.0
"""Measurements of bench/neighbours.sh: python3 neighbours.py SOCKET PID-OF-THE-DAEMON. Prints a row
for each figure."""
import json
import os
import selectors
import signal
import socket
import sys
import time

SOCKET, DAEMON = sys.argv[1:]
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
LEASES, QUESTIONS, POLITE = 300, 500, 600


def get(path):
    return f'GET {path} HTTP/1.1\r\nHost: x\r\n\r\n'.encode()


CHUNKED = b'POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;'


def connect():
    made = socket.socket(socket.AF_UNIX)
    made.connect(SOCKET)
    return made


def answer(connection, request):
    connection.sendall(request)
    got = b''
    while b'\r\n\r\n' not in got:
        got += connection.recv(1 << 16)
    head, body = got.split(b'\r\n\r\n', 1)
    length = int(head.split(b'Content-Length: ')[1].split(b'\r\n')[0])
    while len(body) < length:
        body += connection.recv(1 << 20)
    if head[9:12] not in (b'200', b'201'):
        sys.exit(f'bench: neighbours: {head[9:12]} {body}')
    return body


def fill():
    """Requests that wait, with long commands: lists of a megabyte and a half."""
    asker = connect()
    labels = {f'label-{n}': 'x' * 64 for n in range(16)}
    for _ in range(LEASES):
        body = json.dumps({'vram_bytes': 15 << 30, 'ttl_ms': 3600000, 'labels': labels,
                           'command': 'x' * 4000}).encode()
        answer(asker, b'POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s'
               % (len(body), body))
    return asker


def flood(begin, more):
    """Sends on and on over one connection, without reading, and anew when it is closed."""
    while True:
        try:
            connection = connect()
            connection.sendall(begin)
            while True:
                connection.sendall(more)
        except OSError:
            continue


def never_read():
    kept = [connect() for _ in range(100)]
    for connection in kept:
        connection.sendall(get('/v1/leases'))
    signal.pause()


def crowd():
    """Each connection asks again when it has its answer."""
    waiting = selectors.DefaultSelector()
    for _ in range(POLITE):
        connection = connect()
        connection.setblocking(False)
        waiting.register(connection, selectors.EVENT_READ, [b'', 0])
        connection.send(get('/v1/leases'))
    while True:
        for key, _ in waiting.select():
            state = key.data
            piece = key.fileobj.recv(1 << 20)
            if not state[1]:
                state[0] += piece
                if b'\r\n\r\n' not in state[0]:
                    continue
                head, piece = state[0].split(b'\r\n\r\n', 1)
                state[1] = int(head.split(b'Content-Length: ')[1].split(b'\r\n')[0])
            state[1] -= len(piece)
            if state[1] == 0:
                state[0] = b''
                key.fileobj.send(get('/v1/leases'))


def memory_mib():
    with open(f'/proc/{DAEMON}/status', encoding='ascii') as file:
        return [int(line.split()[1]) for line in file if line.startswith('VmRSS')][0] / 1024


def row(name, value, unit, **limits):
    print(json.dumps({'name': name, 'value': value, 'unit': unit, 'against': ''}
                     | (limits if IS_ROOT else {})), flush=True)


def back_to(idle):
    """What the daemon still holds above `idle` when it has had five seconds to give it back."""
    for _ in range(50):
        if memory_mib() <= idle + 1:
            break
        time.sleep(0.1)
    return max(0, memory_mib() - idle)


def measure(what, attack):
    idle = memory_mib()
    child = 0
    if attack:
        child = os.fork()
        if child == 0:
            if IS_ROOT:
                os.setgroups([])
                os.setuid(NOBODY)
            attack()
            os._exit(1)
        time.sleep(1)
    took = []
    most = 0
    for _ in range(QUESTIONS):
        begin = time.perf_counter()
        with connect() as connection:
            answer(connection, get('/v1/status'))
        took.append((time.perf_counter() - begin) * 1000)
        most = max(most, memory_mib())
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    took.sort()
    row(f'an answer, {what}, median', took[len(took) // 2], 'ms')
    row(f'an answer, {what}, 99 of 100', took[len(took) * 99 // 100], 'ms',
        **({'limit': 50} if attack else {}))
    row(f'memory of the daemon above idle, {what}', max(0, most - idle), 'MiB', limit=64)
    row(f'memory above idle that is kept, {what}', back_to(idle), 'MiB', limit=16)


keeper = fill()
measure('alone', None)
measure('beside a pile of requests', lambda: flood(b'', get('/v1/leases') * 2000))
measure('beside a body without end', lambda: flood(CHUNKED, b'a' * 65536))
measure('beside one who does not read', never_read)
measure(f'beside {POLITE} connections', crowd)
