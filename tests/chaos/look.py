# SPDX-License-Identifier: Apache-2.0
"""A person who looks on while tests/chaos/run runs: `berth top` and the page stay open, are used
now and then, and are held against what `berth status` and `berth ps` say whenever nothing happens
for a moment. Failures are: a figure that stays wrong, an error, a view that does not come back
after the daemon did, and a view or a daemon that grows. `quiet` and `finish` may be called from
any thread."""
import json
import os
import random
import re
import socket
import statistics
import struct
import subprocess
import threading
import time

from look_figures import expected, truth, wrong_figures
from look_views import PageView, TopView, kib_of

FIGURES_WITHIN = 5  # Seconds that a wrong figure may stay, once nothing happens any more.
# Seconds until a view is live again after the daemon is there: the page tries again after up to
# 15 s and a quarter, top each 2 s.
BACK_WITHIN = {'top': 10, 'page': 25}
# At the end at most so much more than after the first tenth: a share, and a constant.
BOUNDS = {
    'top, KiB': (0.2, 1024), 'page heap, KiB': (0.3, 2048), 'page nodes': (0.3, 1500),
    'page listeners': (0.3, 300), 'daemon, KiB': (0.25, 12288), 'daemon descriptors': (0.25, 40),
}
# What a browser says while there is no daemon, and of a lease that has ended meanwhile.
DISCONNECTED = re.compile(r'net::ERR_(CONNECTION_\w+|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE'
                          r'|SOCKET_NOT_CONNECTED)')
HAS_ENDED = re.compile(r'status of 404 .*/v1/leases/\d+/')
# The page grows until its charts, of 5 minutes, hold as many leases as they ever do.
CHARTS_FULL = 330
# A daemon grows until it remembers so many (core/limits.h): it is measured from then on.
ENDED_KEPT = 1000
NEVER = 4  # What could not be clicked so often, and never could, is a fault.
KILL_ECHO = 5  # Seconds before and after which such a message belongs to a killed daemon.


class Daemon:
    """Which one answers at the socket, since when, and what it takes; a thread of its own looks."""

    def __init__(self, env):
        status = subprocess.run(['berth', 'daemon', 'status', '--json'], env=env, text=True,
                                capture_output=True, timeout=60, check=True)
        self.path = json.loads(status.stdout)['socket']
        self.pid = None
        self.since = time.monotonic()
        self.changes = []  # When one went or came, and while there is none, as time.time().
        self.look()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.stopping.wait(0.1):
            self.look()

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def look(self):
        pid = None
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(5)
            try:
                one.connect(self.path)
                pid = struct.unpack('3i', one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED,
                                                         12))[0]
            except OSError:
                pass
        if pid != self.pid:
            self.pid, self.since = pid, time.monotonic()
            self.changes = [*self.changes[-999:], time.time()]
        elif pid is None:
            self.changes = [*self.changes[-999:], time.time()]

    def was_changing(self, at):
        return any(abs(at - change) < KILL_ECHO for change in self.changes)

    def rss_kib(self):
        return self.pid and kib_of(self.pid, 'VmRSS')

    def descriptors(self):
        try:
            return self.pid and len(os.listdir(f'/proc/{self.pid}/fd'))
        except OSError:
            return None


class Looker:
    def __init__(self, env, options, fail):
        self.env, self.options, self.fail = env, options, fail
        self.random = random.Random(options.seed)
        self.daemon = Daemon(env)
        self.views = {'top': TopView(env)}
        missing = PageView.missing()
        if missing:
            print(f'look: the page is NOT looked at: {missing}', flush=True)
        else:
            self.views['page'] = PageView(env)
        self.lock = threading.Lock()  # Of the views.
        self.stopping = False
        self.begun = time.monotonic()
        self.series = {name: [] for name in BOUNDS}  # (When, value), of quiet moments.
        self.most = dict.fromkeys(BOUNDS, 0)
        self.acted, self.refused = {}, {}
        self.decks = {name: [] for name in self.views}  # What is still to be done of a round.
        self.live, self.lags = dict.fromkeys(self.views, True), dict.fromkeys(self.views, 0.0)
        self.live_at = dict.fromkeys(self.views, self.begun)
        self.said = []  # By the browser, and not yet judged.
        self.told_late = set()
        self.agreed = self.disagreed = self.restless = 0
        self.filled = None  # When the daemon remembered as many ended leases as it ever does.
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    # ---- While it storms.
    def work(self):
        next_act = time.monotonic()
        try:
            while not self.stopping:
                with self.lock:
                    self.watch()
                    if time.monotonic() > next_act and not self.stopping:
                        self.act(*self.next_act())
                        next_act = time.monotonic() + 1 + self.random.random() * 2
                time.sleep(0.2)
        except (RuntimeError, OSError) as error:
            self.fail(f'look: {error}')

    def next_act(self):
        """Each view as often as the other, and each of its acts as often as another of it."""
        view = self.random.choice(list(self.views))
        if not self.decks[view]:
            self.decks[view] = list(TopView.ACTS if view == 'top' else self.views['page'].acts)
            self.random.shuffle(self.decks[view])
        return view, self.decks[view].pop()

    def act(self, view, name):
        refusal = self.views[view].act(name)
        counts = self.refused if refusal else self.acted
        key = f'{view} {name}'
        counts[key] = counts.get(key, 0) + 1
        if refusal and self.options.verbose:
            print(f'look: {key}: {refusal}', flush=True)

    def watch(self):
        """Whether each view lives, is live, and has said an error."""
        now = time.monotonic()
        for name, view in self.views.items():
            is_live = self.connection(name, view) == 'live'
            # By the daemon that is there now, if it has not just gone.
            lag = now - max(self.daemon.since, self.live_at[name])
            if is_live and not self.live[name] and self.daemon.pid:
                self.lags[name] = max(self.lags[name], lag)
            if is_live:
                self.live_at[name] = now
            self.live[name] = is_live
            late = self.daemon.pid and not is_live and lag > BACK_WITHIN[name]
            if late and (name, self.daemon.since) not in self.told_late:
                self.told_late.add((name, self.daemon.since))
                self.fail(f'look: {name} is not live {lag:.1f} s after the daemon is there:\n'
                          + view.figures()[1])
        self.note('daemon, KiB', self.daemon.rss_kib())
        self.note('daemon descriptors', self.daemon.descriptors())

    def connection(self, name, view):
        if name == 'top':
            if view.status is not None:
                raise RuntimeError(f'berth top has ended with {view.status}: '
                                   f'{view.last.decode(errors="replace")[-500:]!r}')
            return view.connection()
        told = view.ask('connection')
        self.said += told['said']
        self.judge(time.time() - KILL_ECHO)
        return told['connection']

    def judge(self, until):
        """What the browser said before: by then it is known whether a daemon went."""
        for one in [one for one in self.said if one['at'] < until]:
            self.said.remove(one)
            excused = one['kind'] == 'console' and (
                DISCONNECTED.search(one['text']) and self.daemon.was_changing(one['at'])
                or HAS_ENDED.search(one['text']))
            if not excused:
                self.fail(f"look: the page, {one['kind']}: {one['text']}")

    def note(self, name, value, is_quiet=False):
        if value is None:
            return
        self.most[name] = max(self.most[name], value)
        if is_quiet:
            self.series[name].append((time.monotonic() - self.begun, value))

    # ---- While nothing happens.
    def quiet(self, seconds=40, measured=True):
        """Holds the views against what is asked; to be called when nothing happens any more."""
        with self.lock:
            size = self.random.choice(((140, 40), (300, 60), (60, 20)))
            self.views['top'].resize(*size)
            try:
                for view in self.views.values():
                    view.home()
                self.compare(seconds, size)
                self.views['top'].resize(140, 40)
                if measured:
                    self.measure()
            except (RuntimeError, OSError) as error:
                self.fail(f'look: {error}')

    def compare(self, seconds, size):
        deadline = time.monotonic() + seconds
        same, since, first_live = None, 0.0, False
        while time.monotonic() < deadline:
            before = truth(self.env)
            if before and self.filled is None and before[3] > ENDED_KEPT:
                self.filled = time.monotonic() - self.begun
            shown = {name: view.figures() for name, view in self.views.items()}
            self.watch()
            after = truth(self.env)
            if before is None or after is None or before[2] != after[2]:
                continue
            if before[2] != same or not first_live:
                same, since = before[2], time.monotonic()
            first_live = all(self.live.values())
            wrong = wrong_figures({name: figures for name, (figures, _) in shown.items()},
                                  expected(*before[:2]), size[0] > 100)
            if not wrong and first_live:
                self.agreed += 1
                return
            if first_live and time.monotonic() - since > FIGURES_WITHIN:
                self.disagreed += 1
                self.fail('look: figures stay wrong: ' + '; '.join(wrong) + ''.join(
                    f'\n--- {name}:\n{text}' for name, (_, text) in shown.items())
                    + f'\n--- berth status --json:\n{json.dumps(before[0])}')
                return
            time.sleep(0.3)
        self.restless += 1

    def measure(self):
        self.note('top, KiB', self.views['top'].rss_kib(), True)
        self.note('daemon, KiB', self.daemon.rss_kib(), True)
        self.note('daemon descriptors', self.daemon.descriptors(), True)
        if 'page' in self.views:
            told = self.views['page'].ask('measures')
            # Without leases it is another page: that of a GPU that is free, with those that ended.
            if told['leases'] > 0:
                self.note('page heap, KiB', int(told['heap'] / 1024), True)
                self.note('page nodes', int(told['nodes']), True)
                self.note('page listeners', int(told['listeners']), True)

    # ---- At the end.
    def finish(self):
        """Looks once more, closes the views and sums up."""
        self.quiet(measured=False)  # An empty page has a list of all that ended.
        self.stopping = True
        self.thread.join()
        self.judge(time.time() + 1)
        self.daemon.stop()
        status = self.views['top'].close()
        if status != 0:
            self.fail(f'look: berth top ended with {status} after q')
        if 'page' in self.views:
            self.views['page'].close()
        self.sum_up()

    def abandon(self):
        """Leaves nothing running, whatever has happened."""
        self.stopping = True
        for view in self.views.values():
            view.kill()

    def sum_up(self):
        acted = ', '.join(f'{name} {count}' for name, count in sorted(self.acted.items()))
        print(f'look: {acted}')
        refused = ', '.join(f'{name} {count}' for name, count in sorted(self.refused.items()))
        print(f'look: had nothing to click: {refused or "never"}')
        lags = ', '.join(f'{name} {lag:.1f} s' for name, lag in self.lags.items())
        print(f'look: views agreed {self.agreed} times, disagreed {self.disagreed} times, '
              f'it was not quiet {self.restless} times, '
              f'live again after at most {lags}')
        if self.agreed + self.disagreed <= self.restless:
            self.fail('look: it was too restless to hold the views against anything')
        for name, count in self.refused.items():
            if count >= NEVER and name not in self.acted:
                self.fail(f'look: {name} could not be clicked {count} times: is it still there?')
        whole = time.monotonic() - self.begun
        for name, (share, constant) in BOUNDS.items():
            full = self.filled or whole if name.startswith('daemon') else CHARTS_FULL
            since = max(whole / 10, min(full, whole / 2))
            values = [value for at, value in self.series[name] if at >= since]
            if not values:
                continue
            first, last = statistics.median(values[:3]), statistics.median(values[-3:])
            bound = first * (1 + share) + constant
            print(f'look: {name}: first {first:g}, last {last:g}, most {self.most[name]:g}, '
                  f'bound {bound:.0f}, {len(values)} readings')
            if last > bound:
                self.fail(f'look: {name} grew from {first:g} to {last:g}')
