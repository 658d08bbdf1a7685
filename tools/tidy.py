#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the house rules that neither compiler nor formatter knows: layers, purity, banned words,
sizes, heads of files, Notes, names in docs, dead tests. STYLE.md says what the rules are for.

Usage: tidy.py [ROOT]. Prints one line a finding and ends with 1 if there is one. It reads the files
below ROOT and nothing else. Run by ctest as `tidy`; its own tests are in tidy_test.py.
"""
import dataclasses
import glob
import os
import re
import subprocess
import sys

from tidy_layers import groups_of, includes_of, layers_of, order_of, page_of
from tidy_rules import BANNED, IMPURE, MAY, UNNAMED, UNWANTED, WORDING
from tidy_tags import (COORDINATOR, check_density, large_classes, long_functions, nouns_in,
                       tags_of)

PAGE = re.compile(r'(README|ARCHITECTURE|docs/[^/]+)\.md')
PREPROCESSOR_FOLDERS = ('include', 'src/shared/abi', 'src/shared/base', 'src/shared/os',
                        'src/guard', 'simgpu', 'src/shared/config/toml_library.h',
                        'src/training/trainer/libtorch', 'tests/programs')
FILE_MAX, COLUMN_MAX = 500, 100
BATS_FOLDERS = ('tests/adversary', 'tests/cli', 'tests/mcp_clients',
                'tests/programs_of_others', 'tests/systemd', 'tests/train')
EXCEPTIONS = 'tools/tidy_exceptions.txt'
EXCEPTIONS_MAX = 10  # The number of lines in that file. It is only ever lowered.

CODE = ('.h', '.hpp', '.cc', '.c', '.def')
SCRIPTS = ('.py', '.bash', '.sh', '.bats', '.cmake')
TEXTS = CODE + SCRIPTS + ('.md', '.txt', '.toml', '.json', '.yaml', '.service')
SKIPPED = {'.git', 'build', 'node_modules', '__pycache__'}
# Folders whose files may be named in docs by their path.
TREE = (r'(?:src|include|simgpu|examples|tests|fuzz|bench|tools|docs|cmake|site|web|python'
        r'|integrations)/')


@dataclasses.dataclass
class Finding:
    path: str
    line: int
    rule: str
    text: str
    size: int = 0  # For rules with a measure: what it is now, so that an exception can hold it.
    name: str = ''  # Of several in one file: the one that an exception names.


@dataclasses.dataclass
class File:
    path: str  # From the root on, with '/'.
    text: str

    def __post_init__(self):
        self.lines = self.text.split('\n')
        self.is_code = self.path.endswith(CODE)
        self.is_script = self.path.endswith(SCRIPTS) or self.text.startswith('#!')
        self.comments = []
        self.code = code_only(self.text, self.comments).split('\n') if self.is_code else []
        self.place(())

    def place(self, groups):
        """Says which layer it is of, and by which path it is included."""
        parts = self.path.split('/')
        if parts[0] == 'src' and parts[1] in groups and len(parts) > 3:
            del parts[1]
        self.layer = parts[1] if parts[0] == 'src' and len(parts) > 2 else None
        self.include = '/'.join(parts[1:])


_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                    r"|(?<!\w)'(?:\\.|[^'\\\n])+'", re.S)


def blanked(match):
    return re.sub(r'[^\n]', ' ', match[0])


def sentences_only(text):
    """The literals of more than one word; lines and columns stay."""
    kept = [' ' if letter != '\n' else letter for letter in text]
    for token in _TOKEN.finditer(text):
        if token[0].startswith(('"', 'R"')) and ' ' in token[0]:
            kept[token.start():token.end()] = token[0]
    return ''.join(kept)


def code_only(text, comments):
    """The text with comments and the insides of literals blanked; lines and columns stay. Comments
    become pairs: where they begin, and what they say."""
    def blank(match):
        token = match[0]
        if token.startswith(('//', '/*')):
            comments.append((match.start(), token))
        if token.startswith('"') and re.search(r'#\s*include\s*$', text[:match.start()][-20:]):
            return token
        return blanked(match)
    return _TOKEN.sub(blank, text)


def load(root):
    files = []
    for where, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(where, name)
            if os.path.islink(path) or not (name.endswith(TEXTS) or '.' not in name):
                continue
            with open(path, encoding='utf-8', errors='replace') as stream:
                files.append(File(os.path.relpath(path, root), stream.read()))
    return files


def check_layers(file, layers):
    for line, rule, text in includes_of(file, layers):
        yield Finding(file.path, line, rule, text)


def check_layer_tables(texts, layers):
    for line, text in order_of(layers):
        yield Finding('CMakeLists.txt', line, 'layer', text)
    if 'ARCHITECTURE.md' in texts:
        for line, text in page_of(texts['ARCHITECTURE.md'], layers):
            yield Finding('ARCHITECTURE.md', line, 'layer', text)


def check_banned(file, layers):
    if not file.is_code:
        return
    banned = dict(BANNED)
    is_pure = file.layer in layers and layers[file.layer].is_pure
    if is_pure and not file.path.endswith('_test.cc'):
        banned.update(IMPURE)
    if file.path.startswith('python/'):
        del banned[r'\bthrow\b']  # An outside user of our C interface speaks its own idiom.
    may = MAY.get(file.path, [])
    for number, found, instead in matches(banned, '\n'.join(file.code)):
        if not any(re.search(allowed, found) for allowed in may):
            line = file.lines[number - 1].strip()
            yield Finding(file.path, number, 'banned', f'`{line[:60]}`: {instead}')


def matches(patterns, text):
    """(line, what matched, value) for each pattern and each line that it matches."""
    for pattern, value in patterns.items():
        last = 0
        for match in re.finditer(pattern, text, re.M):
            number = text.count('\n', 0, match.start()) + 1
            if number != last:
                yield number, match[0], value
            last = number


def check_preprocessor(file):
    if not file.is_code or file.path.startswith(PREPROCESSOR_FOLDERS):
        return
    for number, line in enumerate(file.code, 1):
        if re.match(r'\s*#\s*(if|ifdef|ifndef|elif|define)\b', line):
            yield Finding(file.path, number, 'preprocessor',
                          'conditions and macros live in ' + ', '.join(PREPROCESSOR_FOLDERS))


def check_shared_ptr(file):
    for number, line in enumerate(file.code, 1):
        if 'shared_ptr<' in line and not any(
                '//' in file.lines[at] for at in (number - 1, number - 2) if at >= 0):
            yield Finding(file.path, number, 'shared_ptr',
                          'a comment here says why it has more than one owner')


def parts_of(name):
    """The words of an identifier: `LeaseView` and `lease_view` are both lease, view."""
    return [part.lower() for part in re.findall(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+', name)]


def refused_words(glossary):
    """What stands under «not» in the glossary, as words of identifiers."""
    rows = re.findall(r'^\| \*\*.*\|(.*?)\|$', glossary, re.M)
    return {tuple(parts_of(word)): word for row in rows for word in re.findall(r'`([^`]+)`', row)}


def check_words(file, refused):
    if not file.is_code or file.path.startswith('include/'):
        return
    first = {word[0] for word in refused}
    seen = set()
    for number, line in enumerate(file.code, 1):
        for name in set(re.findall(r'[A-Za-z_]\w*', line)) - seen:
            seen.add(name)
            parts = parts_of(name)
            for at in (i for i, part in enumerate(parts) if part in first):
                for word in refused:
                    if tuple(parts[at:at + len(word)]) == word:
                        yield Finding(file.path, number, 'word',
                                      f'`{name}`: docs/glossary.md has another word for '
                                      f'`{refused[word]}`')


# How a subject begins that says what is so, and not what the commit does.
_NOT_IMPERATIVE = re.compile(r'[^:]+: (an?|the|its?|this|that|there|what|who|whoever|whose|where|'
                             r'when|how|no|nobody|somebody|each|all|\w+(ed|ing))\b')


def check_commits(root):
    """The last commits, as CONTRIBUTING.md asks; none where the tree is no repository."""
    if not os.path.exists(os.path.join(root, '.git')):
        return
    log = subprocess.run(['git', 'log', '-10', '--no-merges', '--shortstat',
                          '--format=%x01%h%x00%s%x00%b%x00'],
                         cwd=root, capture_output=True, text=True, check=False).stdout
    for entry in log.split('\x01')[1:]:
        commit, subject, body, stat = entry.split('\x00')
        changed = sum(int(count) for count in re.findall(r'(\d+) (?:insertion|deletion)', stat))
        if _NOT_IMPERATIVE.match(subject):
            yield Finding('.git', 0, 'commit', f'{commit} `{subject}`: say what it does: "add …"')
        if changed > 20 and not body.strip():
            yield Finding('.git', 0, 'commit',
                          f'{commit} `{subject}`: {changed} lines and no body')


def check_unwanted(file):
    for number, found, instead in matches(UNWANTED, file.text):
        yield Finding(file.path, number, 'unwanted', f'`{found}`: {instead}')


def check_wording(file):
    if PAGE.fullmatch(file.path):
        text = re.sub(r'^```.*?^```|`[^`\n]+`', blanked, file.text, flags=re.M | re.S)
    elif file.path.startswith(('src/', 'simgpu/')) and not file.path.endswith('_test.cc'):
        text = sentences_only(file.text)
    else:
        return
    for number, found, instead in matches(WORDING, text):
        if found not in MAY.get(file.path, []):
            yield Finding(file.path, number, 'wording', f'`{found}`: {instead}')


def check_comments(file):
    """A comment says what acts; the head of a file begins with what the file has."""
    if not file.is_code:
        return
    for start, comment in file.comments:
        for number, found, instead in matches(UNNAMED, comment):
            line = number + file.text.count('\n', 0, start)
            yield Finding(file.path, line, 'comment', f'`{found}`: {instead}')
    head = re.match(r'// (What|Who|Whose|Whether|Whoever|That)\b', (file.lines + [''])[1])
    if head:
        yield Finding(file.path, 2, 'comment', f'`{head[1]}`: begin with a noun')


def check_head(file):
    if not (file.is_code or file.is_script or file.path.endswith('CMakeLists.txt')):
        return
    mark = '// ' if file.is_code else '# '
    if f'{mark}SPDX-License-Identifier: Apache-2.0' not in file.lines[:2]:
        yield Finding(file.path, 1, 'head', 'the first line names the licence (SPDX)')
        return
    if not file.path.endswith(('.h', '.cc', '.c')):
        return
    # foo.h speaks for foo.cc and posix_foo.cc, and each of them for their tests.
    source = file.path.replace('_test.cc', '.cc').replace('/posix_', '/')
    owners = [source.replace('.cc', '.h'), source]
    spoken_for = not file.known.isdisjoint(set(owners) - {file.path})
    if not spoken_for and not re.match(r'// \S', (file.lines + [''])[1]):
        yield Finding(file.path, 2, 'head', 'one to five lines say what the file is for')
    if file.path.endswith('.h') and '#pragma once' not in file.lines:
        yield Finding(file.path, 1, 'head', '#pragma once')


def check_own_header_first(file):
    """foo.cc includes foo.h first, which proves that foo.h compiles alone."""
    header = re.sub(r'\.cc$', '.h', file.path)
    if not file.path.endswith('.cc') or header not in file.known or not file.layer:
        return
    for number, line in enumerate(file.code, 1):
        include = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
        if include:
            own = re.sub(r'\.cc$', '.h', file.include)
            if include[1] != own:
                yield Finding(file.path, number, 'own-header', f'include {own} first')
            return


def check_sizes(file):
    if not (file.is_code or file.is_script):
        return
    length = len(file.lines) - 1
    if length > FILE_MAX:
        yield Finding(file.path, 1, 'file-size', f'{length} lines; {FILE_MAX} at most', length)
    if str(file.path).endswith('.bats'):
        return  # What a program prints, and what is expected of it, stand whole in one line there.
    for number, line in enumerate(file.lines, 1):
        if len(line) > COLUMN_MAX:
            yield Finding(file.path, number, 'columns',
                          f'{len(line)} columns; {COLUMN_MAX} at most')


# What is no command of its own: what is quoted, a test in brackets, a condition, a comment.
_NO_COMMAND = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\[\[ .*? \]\]|(?:^|\s)#.*"""
                         r'|\b(?:if|elif|while|until) .*?(?=; (?:then|do)\b|$)')
_NEGATED = re.compile(r'(?:^|;|&&|\|\||[{(]|\b(?:do|then|else))\s*!\s')
_FUNCTION = re.compile(r'(@test .*|(function )?[\w-]+ ?\(\)) [{(]$')


def check_negated(file):
    """Bash does not stop at a `!` that fails: only as the last command of a function it counts."""
    if not (file.path.endswith(('.bats', '.bash')) or re.match('#!.*bash', file.text)):
        return
    for number, line in enumerate(file.lines, 1):
        code = _NO_COMMAND.sub('Q', line.strip())
        whole = re.fullmatch(r'[\w-]+\(\) \{ (.*); \}', code)
        code = whole[1] if whole else code
        found = list(_NEGATED.finditer(code))
        if not found:
            continue
        rest = code[found[-1].end():]
        answer = re.search(r'\|\|\s*(.*)', rest)
        if answer and found[-1].start() == 0 and not re.match(r'(true|:)\b|:$', answer[1]):
            continue
        if answer or ';' in rest or not (whole or ends_function(file.lines, number)):
            yield Finding(file.path, number, 'cannot-fail',
                          'a `!` in the middle of a test is not looked at: fails COMMAND')


def ends_function(lines, number):
    """Whether nothing but the end of a function follows this line: not that of a group."""
    after = next((at for at in range(number, len(lines))
                  if lines[at].strip() and not lines[at].strip().startswith('#')), None)
    if after is None or lines[after].strip() != '}':
        return False
    indent = lines[after][:-1]
    begins = (line[len(indent):] for line in reversed(lines[:number])
              if line.startswith(indent) and re.match(r'\S.*[{(]$', line[len(indent):]))
    return bool(_FUNCTION.match(next(begins, '')))


def check_tags(files, root):
    """What is counted by Universal Ctags. Without it nothing is, which is a finding."""
    tags = tags_of(files, root)
    if tags is None:
        yield Finding('tools/tidy.py', 1, 'ctags', 'functions and classes are not counted: install '
                      'universal-ctags (./dev tidy does)')
        return
    for path, line, text, size in long_functions(tags):
        yield Finding(path, line, 'function-size', text, size)
    for path, line, rule, text, size, name in large_classes(tags, nouns_in(files)):
        yield Finding(path, line, rule, text, size, name)
    wrong = check_density(files, tags)
    if wrong:
        yield Finding(COORDINATOR, 1, 'checks', wrong)


def check_notes(files):
    """`Note [Title]` that begins a comment is the Note; anywhere else it cites one."""
    told, cited = {}, []
    for file in files:
        if file.path.endswith('tools/tidy_test.py'):
            continue
        for number, line in enumerate(file.lines, 1):
            if 'Note [' not in line:
                continue
            for title in re.findall(r'\bNote \[([^\]]+)\]', line):
                if re.fullmatch(r'\s*(///?|#|\*)\s*Note \[[^\]]+\](:.*|\s*)', line):
                    told.setdefault(title, []).append((file.path, number))
                elif '{' not in title and title != 'Title':
                    cited.append((file.path, number, title))
    for title, places in told.items():
        for path, number in places[1:]:
            yield Finding(path, number, 'note', f'Note [{title}] is told in {places[0][0]} too')
    for path, number, title in cited:
        if title not in told:
            yield Finding(path, number, 'note', f'no Note [{title}] is told anywhere')


def check_decisions(files):
    """A decision is cited by its number: no two have one, and its title says it too."""
    taken = {}
    for file in files:
        found = re.fullmatch(r'docs/decisions/(\d{4})-[a-z0-9-]+\.md', file.path)
        if not found:
            continue
        number = found[1]
        if number in taken:
            yield Finding(file.path, 1, 'decision', f'{number} is {taken[number]} already')
        taken.setdefault(number, file.path)
        if number != '0000' and not file.lines[0].startswith(f'# {int(number)} '):
            yield Finding(file.path, 1, 'decision', f'the title should begin with # {int(number)}')


def check_doc_names(file, root, words, layers):
    """What a document names in `backticks`, or links to, exists. Decision records are history."""
    if not file.path.endswith('.md') or file.path == 'CHANGELOG.md':
        return
    here = os.path.dirname(os.path.join(root, file.path))
    for number, line in enumerate(file.lines, 1):
        for link in re.findall(r'\]\(([^)#\s:]+)(?:#[^)]*)?\)', line):
            if not os.path.exists(os.path.join(here, link)):
                yield Finding(file.path, number, 'doc-name', f'no file {link}')
        if '/decisions/' in file.path:
            continue
        for name in re.findall(r'`([^`\s]+)`', line):
            if re.match(TREE, name) and not re.search(r'[<>…{$]|NNNN', name):
                layer = re.fullmatch(r'src/([\w/]*\w)/?', name)  # It may be yet to come.
                folders = [layer.folder for layer in layers.values()]
                if not (layer and layer[1] in folders) and not glob.glob(
                        os.path.join(root, name.split(':')[0])):
                    yield Finding(file.path, number, 'doc-name', f'no file {name}')
            word = re.fullmatch(r'(?:\w+(?:::|\.))*(\w+)\(\)|(?:\w+::)+(\w+)|(BERTH_\w+)', name)
            if word and not name.startswith('std::') and not set(word.groups()) & words:
                yield Finding(file.path, number, 'doc-name', f'nothing is called {name}')
        for verb in re.findall(r'\./dev ([a-z]+)\b', line):
            if f'verb_{verb}' not in words:
                yield Finding(file.path, number, 'doc-name', f'./dev has no verb {verb}')


def check_dead_tests(file, built):
    """A test that nothing builds or runs is worse than none: it is believed."""
    name = os.path.basename(file.path)
    if name.endswith('_test.cc'):
        if file.layer and file.layer not in built:
            yield Finding(file.path, 1, 'dead-test', f'no add_layer({file.layer} …) builds it')
        elif not file.layer and not file.path.startswith(('tests/', 'simgpu/')):
            yield Finding(file.path, 1, 'dead-test', 'nothing builds tests here')
        if not re.search(r'\b(TYPED_)?TEST(_F|_P)?\(|RC_GTEST', file.text):
            yield Finding(file.path, 1, 'dead-test', 'holds no test')
    folder = os.path.dirname(file.path)
    if name.endswith('.bats') and folder not in BATS_FOLDERS:
        yield Finding(file.path, 1, 'dead-test',
                      'bats files are run in ' + ', '.join(BATS_FOLDERS) + ' only')
    if name.endswith('_test.py') and folder not in ('tools', 'tests/docs', 'tests/python'):
        yield Finding(file.path, 1, 'dead-test',
                      'Python tests are run in tools/, tests/docs and tests/python')
    for number, line in enumerate(file.code, 1):
        if 'DISABLED_' in line:
            yield Finding(file.path, number, 'dead-test', 'mend the test or delete it')


def without_exceptions(findings, lines):
    """Takes out what the exceptions list holds; a line of it that is not exact is a finding."""
    entries = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith('#'):
            continue
        rule, path, size = line.split()
        entries[rule, path, int(size)] = number
    if len(entries) > EXCEPTIONS_MAX:
        yield Finding(EXCEPTIONS, 1, 'exceptions', f'{len(entries)} entries, {EXCEPTIONS_MAX} held')
    for finding in findings:
        where = finding.path + (f':{finding.name}' if finding.name else '')
        if entries.pop((finding.rule, where, finding.size), None) is None:
            yield finding
    if any(finding.rule == 'ctags' for finding in findings):
        return  # Nobody has counted what they are for.
    for (rule, path, size), number in entries.items():
        yield Finding(EXCEPTIONS, number, 'exceptions',
                      f'{rule} {path} {size} is not so (any more): take the line out or lower it')


def check_all(root):
    files = load(root)
    known = {file.path for file in files}
    texts = {file.path: file.text for file in files}
    layers = layers_of(texts.get('CMakeLists.txt', ''))
    built = [name for name, layer in layers.items() if layer.has_library]
    words = {word for file in files if not file.path.endswith('.md')
             for word in re.findall(r'\w+', file.text)}
    refused = refused_words(texts.get('docs/glossary.md', ''))
    findings = list(check_commits(root)) + list(check_layer_tables(texts, layers))
    groups = groups_of(layers)
    for file in files:
        file.place(groups)
        file.known = known
        findings += check_words(file, refused)
        findings += check_layers(file, layers)
        findings += check_banned(file, layers)
        for check in (check_preprocessor, check_shared_ptr,
                      check_unwanted, check_wording, check_comments, check_head,
                      check_own_header_first, check_sizes, check_negated):
            findings += check(file)
        findings += check_doc_names(file, root, words, layers)
        findings += check_dead_tests(file, built)
    findings += check_tags(files, root)
    findings += check_notes(files)
    findings += check_decisions(files)
    return files, list(without_exceptions(findings, texts.get(EXCEPTIONS, '').split('\n')))


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else '.')
    files, findings = check_all(root)
    for finding in sorted(findings, key=lambda f: (f.path, f.line)):
        print(f'{finding.path}:{finding.line}: [{finding.rule}] {finding.text}')
    print(f'tidy: {len(files)} files, {len(findings)} findings')
    return bool(findings)


if __name__ == '__main__':
    sys.exit(main())
