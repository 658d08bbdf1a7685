# SPDX-License-Identifier: Apache-2.0
"""What has to stand in `berth top` and on the page, by what `berth status --json` and `berth ps
--json` answer, and what of it does not. Nothing is waited for here; for tests/chaos/look.py."""
import json
import re
import subprocess

GIB = 1 << 30
ROUNDING = 0.0501  # GiB: figures have one decimal.
TOP = (
    ('free', r'\A berth .* ([\d.]+) GiB free'), ('held', r'(\d+) held  '),
    ('suspended', r'(\d+) suspended  '), ('waiting', r'(\d+) wait\b'),
    ('free at the bar', r'▏ +([\d.]+) GiB free to grant'),
    ('used', r'GPU 0 .* used ([\d.]+)  granted'),
    ('granted', r'  granted ([\d.]+) of [\d.]+ GiB$'),
    ('capacity', r'  granted [\d.]+ of ([\d.]+) GiB$'), ('queue', r'─ Queue (\d+) ─'),
)
PAGE = (
    ('free', 'headline', r'([\d.]+) GiB free to grant'),
    ('free in the title', 'title', r'([\d.]+) GiB free'),
    ('waiting in the title', 'title', r', (\d+) wait'),
    ('held', 'summary', r'(\d+) leases? holds? '),
    ('granted', 'summary', r'holds? ([\d.]+) of'),
    ('capacity', 'summary', r'holds? [\d.]+ of ([\d.]+) GiB on 1 GPU'),
    ('suspended', 'summary', r'(\d+) suspended'),
    ('waiting', 'summary', r'(\d+) requests? waits?'),
    ('held in the table', 'leases', r'(\d+) held'),
    ('queue', 'queue', r'(\d+) request'),
)


def figures_of_top(text):
    """By name; what has no place on a screen of this size is left out."""
    matches = [(name, re.search(pattern, text, re.M)) for name, pattern in TOP]
    found = {name: float(match[1]) for name, match in matches if match}
    if 'held' in found:
        found.setdefault('suspended', 0.0)
    return found


def figures_of_page(told):
    """As of top, and those which the page alone has; None: a dash."""
    matches = [(name, re.search(pattern, told[place] or '')) for name, place, pattern in PAGE]
    found = {name: float(match[1]) for name, match in matches if match}
    for name, said in told['device'].items():
        match = re.match(r'[\d.]+', said)
        found[name] = float(match[0]) if match else None
    if told['leases'] is not None:
        found['rows'] = float(told['rows'])
    for name in ('held', 'waiting', 'suspended', 'waiting in the title'):
        found.setdefault(name, 0.0)
    return found


def truth(env):
    """What can be asked now: status, ps, what of it must be the same for a moment to be quiet, and
    the highest number of a lease. None: it was not answered."""
    told = []
    for words in (('status',), ('ps',)):
        answer = subprocess.run(['berth', *words, '--json'], env=env, text=True,
                                capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        if answer.returncode != 0:
            return None
        told.append(json.loads(answer.stdout))
    status, listed = told
    device = status['devices'][0]
    leases = [(one['id'], one['state'], one['flags'], one['vram_used_bytes'],
               one['vram_granted_bytes']) for one in listed['items']]
    figures = {key: device[key] for key in device
               if key.startswith('vram_') or key in ('leases', 'overcommitted', 'lost')}
    same = (figures, leases, [one['id'] for one in status['queue']])
    return status, listed, same, max((one['id'] for one in listed['items']), default=0)


def expected(status, listed):
    """By the names of the views; None: not known."""
    device = status['devices'][0]
    states = [one['state'] for one in listed['items']]
    gib = {key: None if device[f'vram_{key}_bytes'] is None else device[f'vram_{key}_bytes'] / GIB
           for key in ('grantable', 'granted', 'used', 'total', 'held_back')}
    parts = {one['id']: part['vram_used_bytes'] for one in listed['items']
             for part in one['devices'] if part['uuid'] == device['uuid']}
    used = [parts.get(one, 0) for one in device['leases']]
    waiting, held = states.count('waiting'), states.count('held')
    return {
        'free': gib['grantable'], 'free at the bar': gib['grantable'],
        'free in the title': gib['grantable'], 'Free to grant': gib['grantable'],
        'used': gib['used'], 'granted': gib['granted'], 'capacity': gib['total'],
        'Used by leases': None if None in used else sum(used) / GIB,
        'Held back': gib['held_back'], 'held': held, 'held in the table': held,
        'suspended': states.count('suspended'), 'waiting': waiting,
        'waiting in the title': waiting, 'queue': waiting, 'rows': len(states) - waiting,
    }


def differences(shown, wanted, needed):
    wrong = [f'{name} is not shown' for name in needed if name not in shown]
    for name, value in shown.items():
        right = wanted.get(name)
        if value is None or right is None:
            continue
        if abs(value - right) > ROUNDING:
            wrong.append(f'{name}: {value:g} is shown, and it is {right:g}')
    return wrong


def wrong_figures(shown, wanted, is_wide):
    """`shown`: of each view, what stands there by its name. `is_wide`: top has room for counts."""
    needed = ['free', 'used', 'granted', 'free at the bar', 'capacity']
    if is_wide:
        needed += ['held', 'waiting'] + ['queue'] * (wanted['queue'] > 0)
    found = [f'top: {one}' for one in differences(shown['top'], wanted, needed)]
    if 'page' not in shown:
        return found
    page = shown['page']
    needed = ['free', 'free in the title', 'waiting in the title', 'held', 'suspended', 'waiting',
              'Free to grant', 'Used by leases', 'Held back']
    if wanted['rows'] + wanted['waiting'] > 0:
        needed += ['held in the table', 'rows', 'queue']
    found += [f'page: {one}' for one in differences(page, wanted, needed)]
    parts = [page.get(key) for key in ('Free to grant', 'Used by leases', 'Granted, not used',
                                       'Held back')]
    if None not in parts and abs(sum(parts) - wanted['capacity']) > len(parts) * ROUNDING:
        found.append(f'page: {parts} are not the {wanted["capacity"]:g} GiB that there are')
    return found
