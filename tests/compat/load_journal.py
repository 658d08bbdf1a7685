#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a journal from a dump, as if it had been written here a moment ago: its instants end now,
in this boot, its user is ours, its device is the one named, and each of its processes is a live one
(a sleep that we start). What it decides stays as it was written.

Usage: load_journal.py DUMP.sql DATABASE DEVICE-UUID [FORMAT-VERSION]
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import time

APPLICATION_ID = 0x42727468
# Points in time. What else ends like these is a length of time.
INSTANTS = {'at_ns', 'queued_at_ns', 'granted_at_ns', 'expires_ns', 'kill_at_ns', 'until_ns',
            'counted_at_ns', 'passed_since_ns', 'parked_since_ns', 'releasing_since_ns',
            'growth_queued_ns'}
WALL_TIMES = {'wall_ms', 'queued_ms', 'started_ms', 'ended_ms', 'expected_end_ms', 'expires_ms'}


def start_ticks(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stream:
        return int(stream.read().rsplit(')', 1)[1].split()[19])


class Here:
    """Translates a journal's facts to this machine."""

    def __init__(self, lines, device):
        self.device = device
        self.processes = {}
        latest = max(lines, key=lambda line: line['at_ns'])
        self.later_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - latest['at_ns']
        self.later_ms = time.time_ns() // 1_000_000 - latest['wall_ms']

    def process(self, old):
        key = (old['pid'], old['start_ticks'])
        if key not in self.processes:
            child = subprocess.Popen(['sleep', '1000'], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.processes[key] = {'pid': child.pid, 'start_ticks': start_ticks(child.pid)}
        return self.processes[key]

    def translated(self, value, name=''):
        if isinstance(value, list):
            return [self.translated(part) for part in value]
        if isinstance(value, dict):
            if set(value) == {'pid', 'start_ticks'}:
                return self.process(value)
            return {key: self.translated(part, key) for key, part in value.items()}
        if name in INSTANTS:
            return max(value + self.later_ns, 0) if value else value
        if name in WALL_TIMES:
            return value + self.later_ms
        if name == 'user_id':
            return os.getuid()
        return self.device if name == 'uuid' else value


def main(dump, path, device, version='1'):
    journal = sqlite3.connect(path)
    with open(dump, encoding='utf-8') as stream:
        journal.executescript(stream.read())
    tables = {table: journal.execute(f'SELECT rowid, line FROM {table}').fetchall()
              for table in ('snapshot', 'records')}
    here = Here([json.loads(line) for rows in tables.values() for _, line in rows], device)
    for table, rows in tables.items():
        for row, line in rows:
            line = json.dumps(here.translated(json.loads(line)), separators=(',', ':'))
            journal.execute(f'UPDATE {table} SET line = ? WHERE rowid = ?', (line, row))
    with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as stream:
        boot = re.sub(r'\s', '', stream.read())
    journal.execute("UPDATE properties SET value = ? WHERE name = 'boot_id'", (boot,))
    journal.commit()
    journal.execute(f'PRAGMA application_id = {APPLICATION_ID}')
    journal.execute(f'PRAGMA user_version = {int(version)}')
    journal.commit()
    journal.close()
    os.chmod(path, 0o600)


if __name__ == '__main__':
    main(*sys.argv[1:])
