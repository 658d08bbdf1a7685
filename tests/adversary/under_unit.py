#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command under the walls that a unit of systemd puts up, read from that very file:

    under_unit.py UNIT VIOLATIONS COMMAND...

SystemCallFilter=, SystemCallArchitectures=, RestrictAddressFamilies=, RestrictNamespaces= and
RestrictRealtime= become a filter of the kernel's, as systemd makes one, but stricter: a process
that makes a call that is not allowed is killed, and the file VIOLATIONS has a line about it.
Capabilities, the user and devices are for the caller of this (lib.bash). `under_unit.py UNIT
--capabilities` prints those of the unit as setpriv takes them. 77: something that this takes is not
here."""
import array
import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import sys

ALLOW, ASK, NOT_THERE = 0x7fff0000, 0x7fc00000, 0x00050000 + 38
LOAD, EQUAL, ANY_OF, RETURN = 0x20, 0x15, 0x45, 0x06
AT_NUMBER, AT_MACHINE, AT_FIRST = 0, 4, 16
MACHINES = {'x86_64': (0xc000003e, 317), 'aarch64': (0xc00000b7, 277)}  # And seccomp()'s number.
NO_NEW_PRIVS, FILTER_MODE, NEW_LISTENER = 38, 1, 8
RECEIVE, REQUEST_SIZE = 0xc0502100, 80
NEW_NAMESPACES = 0x7e020080
SCHEDULING = ('sched_setscheduler', 'sched_setparam', 'sched_setattr')
libc = ctypes.CDLL(None, use_errno=True)


class Instruction(ctypes.Structure):
    _fields_ = [('code', ctypes.c_uint16), ('yes', ctypes.c_uint8), ('no', ctypes.c_uint8),
                ('value', ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_uint16), ('at', ctypes.POINTER(Instruction))]


def give_up(why):
    print(f'under_unit.py: {why}', file=sys.stderr)
    sys.exit(77)


def settings_of(path):
    """What each setting of [Service] is given, one after the other."""
    found, section = {}, ''
    with open(path, encoding='utf-8') as stream:
        for line in stream.read().replace('\\\n', ' ').splitlines():
            if line.startswith('['):
                section = line
            elif section == '[Service]' and '=' in line and line[0] not in '#;':
                key, value = line.split('=', 1)
                found.setdefault(key.strip(), []).append(value.strip())
    return found


def expand(name):
    if not name.startswith('@'):
        return {name}
    try:
        told = subprocess.run(['systemd-analyze', 'syscall-filter', '--no-pager', name], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        give_up('systemd-analyze is not here')
    words = [line.strip() for line in told.splitlines()[1:]]
    return {one for word in words if word and word[0] != '#' for one in expand(word)}


def allowed_calls(lines):
    """As systemd reads it: the first line says what kind of list it is, `~` takes away."""
    if not lines or lines[0].startswith('~'):
        give_up('the unit has no list of allowed calls')
    calls = expand('@default')
    for line in lines:
        names = {call for word in line.lstrip('~').split() for call in expand(word)}
        calls = calls - names if line.startswith('~') else calls | names
    return calls


def numbers_of(names):
    try:
        library = ctypes.CDLL('libseccomp.so.2')
    except OSError:
        give_up('libseccomp is not here')
    numbers = {name: library.seccomp_syscall_resolve_name(name.encode()) for name in names}
    return {name: number for name, number in numbers.items() if number >= 0}


def one(number, code, value):
    """A call of that number is answered so by these instructions; any other passes them by."""
    return [(EQUAL, 0, len(value), number)] + value if code else [(EQUAL, 0, 1, number), value]


def program_of(settings):
    machine, _ = MACHINES[os.uname().machine]
    names = allowed_calls(settings.get('SystemCallFilter', []))
    if settings.get('RestrictRealtime') == ['yes']:
        names -= set(SCHEDULING)
    numbers = numbers_of(names)
    restricted = settings.get('RestrictNamespaces') == ['yes']
    if restricted:
        for name in ('setns', 'unshare'):
            numbers.pop(name, None)
    families = [getattr(socket, name) for line in settings.get('RestrictAddressFamilies', [])
                for name in line.split()]
    steps = [(LOAD, 0, 0, AT_MACHINE), (EQUAL, 1, 0, machine), (RETURN, 0, 0, ASK),
             (LOAD, 0, 0, AT_NUMBER)]
    if restricted:
        clone = numbers.pop('clone')
        steps += one(clone, True, [(LOAD, 0, 0, AT_FIRST), (ANY_OF, 1, 0, NEW_NAMESPACES),
                                   (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ASK)])
        # What it is told lies in memory; the library then takes the older call.
        steps += one(numbers.pop('clone3'), False, (RETURN, 0, 0, NOT_THERE))
    if families:
        made = numbers.pop('socket')
        looks = [step for family in families
                 for step in one(family, False, (RETURN, 0, 0, ALLOW))]
        steps += one(made, True, [(LOAD, 0, 0, AT_FIRST)] + looks + [(RETURN, 0, 0, ASK)])
    for number in sorted(numbers.values()):
        steps += one(number, False, (RETURN, 0, 0, ALLOW))
    steps.append((RETURN, 0, 0, ASK))
    return [Instruction(*step) for step in steps]


def put_up(steps):
    """From here on the walls stand; who makes another call waits for what the descriptor says."""
    number = MACHINES[os.uname().machine][1]
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    program = (Instruction * len(steps))(*steps)
    listener = libc.syscall(number, FILTER_MODE, NEW_LISTENER,
                            ctypes.byref(Program(len(steps), program)))
    if listener < 0:
        give_up('the kernel takes no filter here: ' + os.strerror(ctypes.get_errno()))
    return listener


def name_of(number):
    library = ctypes.CDLL('libseccomp.so.2')
    library.seccomp_syscall_resolve_num_arch.restype = ctypes.c_char_p
    name = library.seccomp_syscall_resolve_num_arch(MACHINES[os.uname().machine][0], number)
    return (name or b'?').decode()


def watch(listener, violations):
    """Until none is left behind these walls."""
    request = ctypes.create_string_buffer(REQUEST_SIZE)
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    while poller.poll()[0][1] & select.POLLIN:
        ctypes.memset(request, 0, REQUEST_SIZE)
        if libc.ioctl(listener, ctypes.c_ulong(RECEIVE), request) != 0:
            continue  # Who made the call is gone already.
        _, pid, _, number, _, _, first = struct.unpack_from('<QIIiIQQ', request)
        try:
            with open(f'/proc/{pid}/comm', encoding='utf-8') as stream:
                comm = stream.read().strip()
        except OSError:
            comm = '?'
        with open(violations, 'a', encoding='utf-8') as stream:
            stream.write(f'{comm}: {name_of(number)}({first:#x}, ...)\n')
        os.kill(pid, signal.SIGKILL)


def main():
    settings = settings_of(sys.argv[1])
    if sys.argv[2] == '--capabilities':
        names = ' '.join(settings.get('CapabilityBoundingSet', [''])).split()
        print(','.join(['-all'] + [name.lower().replace('cap_', '+', 1) for name in names]))
        return 0
    steps = program_of(settings)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        listener = array.array('i', [put_up(steps)])
        theirs.sendmsg([b'.'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, listener)])
        os.closerange(3, 1024)
        os.execvp(sys.argv[3], sys.argv[3:])
    theirs.close()
    _, parts, _, _ = ours.recvmsg(1, socket.CMSG_LEN(4))
    if not parts:
        return 77
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # The command ends, and then we do.
    os.closerange(0, 2)
    if os.fork() == 0:  # It watches the children of the command too, after its end.
        watch(struct.unpack('i', parts[0][2])[0], sys.argv[2])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == '__main__':
    sys.exit(main())
