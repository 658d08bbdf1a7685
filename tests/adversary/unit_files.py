#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command behind the walls in the file system that a unit of systemd puts up, read from that
very file: unit_files.py UNIT COMMAND... As root, in a mount namespace that is for this alone.

It does what systemd does for ProtectSystem=, ProtectHome=, PrivateTmp=, ProtectKernelTunables=,
ProtectKernelModules=, ProtectKernelLogs=, ProtectControlGroups=, ReadWritePaths=, ReadOnlyPaths=,
InaccessiblePaths=, StateDirectory= and RuntimeDirectory=; a setting like these that it does not
know is an error. Without systemd nobody puts up what needs a control group (DevicePolicy=,
MemoryMax=, TasksMax=, IPAddressDeny=); PrivateDevices=, ProtectProc= and ProcSubset= of other units
are not put up here either."""
import os
import re
import shutil
import subprocess
import sys

from under_unit import settings_of

KNOWN = {'ReadWritePaths', 'ReadOnlyPaths', 'InaccessiblePaths', 'StateDirectory',
         'RuntimeDirectory', 'ProtectSystem', 'ProtectHome', 'PrivateTmp', 'ProtectKernelTunables',
         'ProtectKernelModules', 'ProtectKernelLogs', 'ProtectControlGroups'}
OF_THE_KERNEL = ['/dev', '/proc', '/sys']
TUNABLES = ['/sys'] + [f'/proc/{name}' for name in (
    'acpi', 'apm', 'asound', 'bus', 'fs', 'irq', 'latency_stats', 'mtrr', 'scsi', 'sys',
    'sysrq-trigger', 'timer_stats')]
READ_ONLY = {'strict': ['/'], 'full': ['/usr', '/boot', '/efi', '/etc'],
             'yes': ['/usr', '/boot', '/efi'], 'no': []}


def mount(*words):
    subprocess.run(['mount', *words], check=True)


def is_below(path, folders):
    return any(path == one or path.startswith(one.rstrip('/') + '/') for one in folders)


def mount_of(path):
    """The number of what is mounted there, as /proc/self/mountinfo has it."""
    there = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    with open(f'/proc/self/fdinfo/{there}', encoding='ascii') as stream:
        number = re.search(r'^mnt_id:\s*(\d+)$', stream.read(), re.M)[1]
    os.close(there)
    return number


def mounted():
    """Where something is mounted that no other mount hides, and how."""
    with open('/proc/self/mountinfo', encoding='utf-8') as stream:
        rows = [line.split() for line in stream]
    found = {}
    for row in rows:
        path = re.sub(r'\\(\d{3})', lambda code: chr(int(code[1], 8)), row[4])
        if os.path.lexists(path) and mount_of(path) == row[0]:
            found[path] = row[5]
    return found


def close_to_writing(folders, but=()):
    for folder in folders:
        if os.path.exists(folder) and folder not in mounted():
            mount('--rbind', folder, folder)
    for path, options in mounted().items():
        if is_below(path, folders) and not is_below(path, but):
            words = ['ro'] + [one for one in options.split(',') if one not in ('rw', 'ro')]
            mount('-o', 'remount,bind,' + ','.join(words), path)


def hide(paths):
    for path in paths:
        if os.path.isdir(path):
            mount('-t', 'tmpfs', '-o', 'mode=000,ro', 'none', path)
        elif os.path.exists(path):
            mount('--bind', '/tmp/none', path)


class Unit:
    def __init__(self, path):
        self.settings = settings_of(path)
        for name in self.settings:
            if re.search(r'(Paths|Directory|FileSystem|Home|Tmp)$', name) and name not in KNOWN:
                sys.exit(f'unit_files.py: {name}= is not known')

    def value(self, name, default='no'):
        return self.settings.get(name, [default])[-1]

    def is_set(self, name):
        return self.value(name) == 'yes'

    def paths(self, name):
        words = [word for line in self.settings.get(name, []) for word in line.split()]
        return [word.lstrip('-+') for word in words
                if not word.startswith('-') or os.path.exists(word[1:])]

    def make_own(self, name, parent):
        """What systemd makes for the service, and leaves open to it."""
        made = [f'{parent}/{word}' for word in ' '.join(self.settings.get(name, [])).split()]
        for path in made:
            os.makedirs(path, exist_ok=True)
            os.chmod(path, int(self.value(name + 'Mode', '0755'), 8))
            shutil.chown(path, self.value('User', 'root'), self.value('Group', 'root'))
        return made


def put_up(unit):
    dynamic = unit.is_set('DynamicUser')
    open_to_it = unit.make_own('StateDirectory', '/var/lib')
    open_to_it += unit.make_own('RuntimeDirectory', '/run') + unit.paths('ReadWritePaths')
    for path in open_to_it:
        mount('--bind', path, path)
    # What stands for a file that is hidden; hidden with this /tmp is nothing that a unit names.
    mount('-t', 'tmpfs', '-o', 'mode=1777', 'none', '/tmp')
    os.close(os.open('/tmp/none', os.O_CREAT, 0))
    hide(unit.paths('InaccessiblePaths'))
    if unit.is_set('ProtectKernelModules'):
        hide(['/usr/lib/modules'])
    if unit.is_set('ProtectKernelLogs'):
        hide(['/proc/kmsg', '/dev/kmsg'])
    home = unit.value('ProtectHome', 'read-only' if dynamic else 'no')
    homes = ['/home', '/root', '/run/user']
    if home == 'yes':
        hide(homes)
    elif home == 'read-only':
        close_to_writing(homes)
    elif home != 'no':
        sys.exit(f'unit_files.py: ProtectHome={home} is not known')
    subprocess.run(['umount', '--lazy', '/tmp'], check=True)
    if dynamic or unit.is_set('PrivateTmp'):
        for path in '/tmp', '/var/tmp':
            mount('-t', 'tmpfs', '-o', 'mode=1777', 'none', path)
            open_to_it.append(path)
    if unit.is_set('ProtectKernelTunables'):
        close_to_writing(TUNABLES, ['/sys/fs/cgroup'])
    if unit.is_set('ProtectControlGroups'):
        close_to_writing(['/sys/fs/cgroup'])
    close_to_writing(unit.paths('ReadOnlyPaths'), open_to_it)
    close_to_writing(READ_ONLY[unit.value('ProtectSystem', 'strict' if dynamic else 'no')],
                     OF_THE_KERNEL + open_to_it)


def main():
    put_up(Unit(sys.argv[1]))
    os.chdir('/')
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == '__main__':
    main()
