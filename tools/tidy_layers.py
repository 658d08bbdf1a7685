# SPDX-License-Identifier: Apache-2.0
"""Which folder of src/ may include what: CMakeLists.txt says it, and ARCHITECTURE.md shows it."""
import dataclasses
import re

from tidy_rules import LIBRARIES


@dataclasses.dataclass
class Layer:
    folder: str         # Below src/: its name, or GROUP/NAME.
    uses: list          # Folders, as LINKS has them.
    tests_use: list     # Those of its tests besides.
    headers: list       # ONLY: single headers, of folders of which it may include no others.
    line: int
    is_pure: bool = False
    has_library: bool = True  # Else it is a program's alone.


def layers_of(cmake):
    """The layers by name, in the order of the lines, without libraries from outside."""
    layers = {}
    for call in re.finditer(r'^ *add_(layer|program)\(([^()]*)\)', cmake, re.M):
        words, arguments, flags = call[2].split(), {}, []
        keyword = None
        for word in words:
            if word in ('PURE', 'COLD', 'TESTS_READ_TREE', 'SHARED_RUNTIME'):
                flags.append(word)
            elif word in ('LINKS', 'TEST_LINKS', 'ONLY', 'IF'):
                keyword = word
            else:
                arguments.setdefault(keyword, []).append(word)
        names = arguments[None]
        folder = names[0] if call[1] == 'layer' else names[1].rpartition('/')[0]
        name = folder.split('/')[-1]
        if name in layers:
            continue
        layers[name] = Layer(
            folder=folder,
            uses=[link for link in arguments.get('LINKS', []) if re.fullmatch(r'[a-z]+', link)],
            tests_use=arguments.get('TEST_LINKS', []), headers=arguments.get('ONLY', []),
            line=cmake.count('\n', 0, call.start()) + 1, is_pure='PURE' in flags,
            has_library=call[1] == 'layer')
    for layer in layers.values():
        layer.uses = [name for name in layers if name in layer.uses]
    return layers


def groups_of(layers):
    return {layer.folder.split('/')[0] for layer in layers.values() if '/' in layer.folder}


def order_of(layers):
    """(line, what is wrong): a layer links only what stands above it."""
    above = []
    for name, layer in layers.items():
        for used in layer.uses:
            if used not in above:
                yield layer.line, f'{name} may not link {used}, which stands below it'
        above.append(name)


def includes_of(file, layers):
    """(line, rule, what is wrong) of the includes of a file."""
    if not file.layer or not file.is_code:
        return
    layer = layers.get(file.layer)
    if layer is None:
        yield 1, 'layer', 'a folder that no add_layer() in CMakeLists.txt names'
        return
    is_test = file.path.endswith(('_test.cc', '_for_test.h'))
    for number, line in enumerate(file.code, 1):
        include = re.match(r'\s*#\s*include\s*["<](([\w+.-]+)[^">]*)[">]', line)
        if not include:
            continue
        path, folder = include[1], include[2]
        if folder in layers and folder != file.layer and not may_include(layer, path, is_test):
            yield number, 'layer', f'{file.layer}/ may not include {path} (CMakeLists.txt)'
        for library, behind in LIBRARIES.items():
            if path.startswith(library) and file.layer not in behind:
                yield number, 'library', f'{path} stays behind {", ".join(behind)} (LIBRARIES)'


def may_include(layer, path, is_test):
    folder = path.split('/')[0]
    if path in layer.headers or (is_test and folder in layer.tests_use):
        return True
    return folder in layer.uses and not single_headers(layer, folder)


def single_headers(layer, folder):
    return [header for header in layer.headers if header.startswith(folder + '/')]


def may_use(layers, name):
    """What the page says of a layer."""
    layer, words = layers[name], []
    for folder in layers:
        headers = single_headers(layer, folder)
        if headers:
            words += [f'`{header}`' for header in headers]
        elif folder in layer.uses:
            words.append(folder)
    return ', '.join(words) or 'nothing'


def page_of(page, layers):
    """(line, what is wrong) of the table in ARCHITECTURE.md: `| `src/NAME` | … | may use |`."""
    shown = set()
    for number, line in enumerate(page.split('\n'), 1):
        row = re.fullmatch(r'\| `src/([\w/]+)` \|.*\| ([^|]*) \|', line)
        name = next((n for n in layers if row and layers[n].folder == row[1]), None)
        if name is None:
            continue
        shown.add(name)
        wanted = may_use(layers, name)
        if row[2] != wanted and not row[2].startswith(wanted + '; '):
            yield number, f'{name} may use: {wanted} (CMakeLists.txt)'
    for name, layer in layers.items():
        if name not in shown:
            yield 1, f'no row for src/{layer.folder}, which CMakeLists.txt has'
