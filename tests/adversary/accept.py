#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for systemd's sockets with Accept=yes: accept.py UID SOCKET COMMAND... listens there,
for that user alone, and starts the command for each connection, which is its standard input and
output."""
import os
import signal
import socket
import sys


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[2])
    os.chmod(sys.argv[2], 0o600)
    os.chown(sys.argv[2], int(sys.argv[1]), -1)
    server.listen(64)
    while True:
        peer, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(peer.fileno(), 0)
            os.dup2(peer.fileno(), 1)
            os.execvp(sys.argv[3], sys.argv[3:])
        peer.close()


if __name__ == '__main__':
    sys.exit(main())
