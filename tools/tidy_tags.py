# SPDX-License-Identifier: Apache-2.0
"""What tidy.py counts by Universal Ctags: lines of functions, the methods and data members of
classes, and how often the coordinator checks itself. One run of ctags serves all of them."""
import json
import re
import shutil
import subprocess

FUNCTION_MAX = 70
METHODS_MAX, MEMBERS_MAX = 40, 20
FIELDS_MAX = 40  # Of a noun: its members are the rows of its table, which is read instead.
CLASS_FOLDERS = ('include/', 'src/', 'simgpu/')
FOREIGN = 'src/shared/abi/'  # How large a class is there, others decide: the driver's interface.
TESTED = ('_test.cc', '_for_test.h')
# CHECKs per function of the coordinator: the least, which is only ever raised, and how far above it
# they may be before it has to be.
COORDINATOR = 'src/daemon/core/'
CHECKS_MIN, CHECKS_SLACK = 0.072, 0.01


def tags_of(files, root):
    """The tags of all sources and scripts, or None where there is no Universal Ctags."""
    if not shutil.which('ctags'):
        return None
    paths = [f.path for f in files if f.path.endswith(('.h', '.hpp', '.cc', '.c', '.py'))]
    # The kinds of C come first, since they switch off those of C++ that have the same letters.
    command = ['ctags', '--output-format=json', '--fields=+neZ', '--kinds-C=f',
               '--kinds-C++=fpmcs', '--kinds-Python=fm', '--map-C++=+.h',
               '-I', 'GUARDED_BY+,REQUIRES+,EXCLUDES+,CAPABILITY+', '--sort=no', '--quiet=yes',
               '-L', '-', '-f', '-']
    run = subprocess.run(command, cwd=root, input='\n'.join(paths), text=True, check=False,
                         capture_output=True)
    if run.returncode != 0:
        return None  # Exuberant Ctags, which knows no JSON.
    return [json.loads(line) for line in run.stdout.splitlines()]


def long_functions(tags):
    """(path, line, text, size) of each function that is too long."""
    for tag in tags:
        length = tag.get('end', 0) - tag['line'] + 1
        if tag['kind'] in ('function', 'method') and length > FUNCTION_MAX:
            text = f'{tag["name"]}: {length} lines; {FUNCTION_MAX} at most'
            yield tag['path'], tag['line'], text, length


def classes_of(tags):
    """(tag, methods, data members) of each class and struct; what its body declares counts."""
    bodies, parts = {}, {}
    for tag in tags:
        if tag['kind'] in ('class', 'struct') and 'end' in tag:
            bodies.setdefault(tag['path'], []).append(tag)
        elif tag.get('scopeKind') in ('class', 'struct'):
            parts.setdefault(tag['path'], []).append(tag)
    for path, found in bodies.items():
        for body in found:
            scope = '::'.join(filter(None, (body.get('scope'), body['name'])))
            inside = [tag for tag in parts.get(path, [])
                      if tag['scope'] == scope and body['line'] <= tag['line'] <= body['end']]
            yield body, methods_in(inside), members_in(inside)


def methods_in(tags):
    """A visitor is one method: how many cases it has, its variant decides."""
    named = [tag for tag in tags if tag['kind'] in ('prototype', 'function')]
    cases = [tag for tag in named if tag['name'] == 'operator ()']
    return len(named) - max(0, len(cases) - 1)


def members_in(tags):
    return sum(tag['kind'] == 'member' and not re.match('k[A-Z]', tag['name']) for tag in tags)


def nouns_in(files):
    """(path, name) of each struct that has a table of fields."""
    table = re.compile(r'\bfields_of\(Is<(\w+)> auto\*')
    return {(file.path, name) for file in files for name in table.findall(file.text)}


def large_classes(tags, nouns):
    """(path, line, rule, text, size, name) of each class that is too large."""
    counted = [tag for tag in tags if tag['path'].startswith(CLASS_FOLDERS)
               and not tag['path'].startswith(FOREIGN) and not tag['path'].endswith(TESTED)]
    for body, methods, members in classes_of(counted):
        fields = (body['path'], body['name']) in nouns
        for rule, size, most in (('methods', methods, METHODS_MAX),
                                 ('members', members, FIELDS_MAX if fields else MEMBERS_MAX)):
            if size > most:
                yield (body['path'], body['line'], rule,
                       f'{body["name"]}: {size} {rule}; {most} at most', size, body['name'])


def check_density(files, tags):
    """What is wrong with the number of CHECKs of the coordinator, or None."""
    def ours(path):
        return path.startswith(COORDINATOR) and path.endswith('.cc') and not path.endswith(TESTED)
    functions = sum(tag['kind'] == 'function' and ours(tag['path']) for tag in tags)
    checks = sum(len(re.findall(r'\bCHECK\(', line))
                 for file in files if ours(file.path) for line in file.code)
    if functions == 0:
        return None
    said = f'{checks} CHECKs in {functions} functions of {COORDINATOR}: {checks / functions:.3f}'
    if checks < CHECKS_MIN * functions:
        return f'{said}; {CHECKS_MIN} at least: state what must hold'
    if checks >= (CHECKS_MIN + CHECKS_SLACK) * functions:
        return f'{said}: raise CHECKS_MIN in tools/tidy_tags.py to hold it'
    return None
