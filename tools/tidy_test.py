#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tidy.py: each rule finds what it is for, at its line, and leaves good text alone."""
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy
import tidy_tags

HEAD = '// SPDX-License-Identifier: Apache-2.0\n'
SAYS = HEAD + '// Says what it is for.\n'
HEADER = SAYS + '#pragma once\n'
HASH = '# SPDX-License-Identifier: Apache-2.0\n'


# As in the tree, where a test needs nothing else.
LAYERS = HASH + '''
add_layer(base PURE)
add_layer(guard)
add_layer(model PURE LINKS base)
add_layer(core PURE LINKS model base)
add_layer(wire PURE LINKS model base)
add_layer(config PURE LINKS model base ONLY core/limits.h)
add_layer(os LINKS base TEST_LINKS guard)
add_layer(store LINKS os model base sqlite)
add_layer(server LINKS store os base)
add_layer(sim LINKS store core model base)
add_layer(cli LINKS config wire core os model base ONLY core/limits.h)
'''


class Tidy(unittest.TestCase):
    def found(self, files):
        """What tidy finds in a tree of these files, as 'path:line rule'."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in ({'CMakeLists.txt': LAYERS} | files).items():
                where = os.path.join(root, path)
                os.makedirs(os.path.dirname(where), exist_ok=True)
                with open(where, 'w', encoding='utf-8') as stream:
                    stream.write(text)
            _, findings = tidy.check_all(root)
            return [f'{f.path}:{f.line} {f.rule}' for f in findings]

    def assert_clean(self, files):
        self.assertEqual(self.found(files), [])

    def set(self, module, name, value):
        patch = unittest.mock.patch.object(module, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def test_lower_layers_may_be_included_and_no_others(self):
        self.assert_clean({'src/core/a.cc': SAYS + '#include "base/b.h"\n#include "model/c.h"\n'})
        self.assertEqual(self.found({'src/core/a.cc': SAYS + '#include "wire/b.h"\n'}),
                         ['src/core/a.cc:3 layer'])
        self.assertEqual(self.found({'src/base/a.cc': SAYS + '#include "model/b.h"\n'}),
                         ['src/base/a.cc:3 layer'])

    def test_a_decision_has_a_number_of_its_own(self):
        self.assert_clean({'docs/decisions/0007-one.md': '# 7 One\n',
                           'docs/decisions/0008-two.md': '# 8 Two\n'})
        self.assertEqual(self.found({'docs/decisions/0007-one.md': '# 7 One\n',
                                     'docs/decisions/0007-two.md': '# 7 Two\n'}),
                         ['docs/decisions/0007-two.md:1 decision'])
        self.assertEqual(self.found({'docs/decisions/0007-one.md': '# 8 One\n'}),
                         ['docs/decisions/0007-one.md:1 decision'])

    def test_a_single_header_may_be_named(self):
        for layer in ('config', 'cli'):  # Of what it links not, and of what it links.
            path = f'src/{layer}/a.cc'
            self.assert_clean({path: SAYS + '#include "core/limits.h"\n'})
            self.assertEqual(self.found({path: SAYS + '#include "core/ledger.h"\n'}),
                             [path + ':3 layer'])

    def test_tests_may_include_what_they_link_besides(self):
        text = SAYS + '#include "guard/layout.h"\n'
        self.assert_clean({'src/os/a_test.cc': text + 'TEST(A, B) {}\n'})
        self.assertEqual(self.found({'src/os/a.cc': text}), ['src/os/a.cc:3 layer'])

    def test_a_layer_links_what_stands_above_it(self):
        self.assertEqual(self.found({'CMakeLists.txt': HASH + 'add_layer(os LINKS base)\n'
                                                              'add_layer(base)\n'}),
                         ['CMakeLists.txt:2 layer'])

    def test_the_page_says_what_the_lines_say(self):
        lines = HASH + 'add_layer(base)\nadd_layer(os PURE LINKS base fmt::fmt ONLY core/a.h)\n' \
                       'add_layer(core)\nadd_program(x daemon/main.cc LINKS os)\n'
        rows = {'base': 'nothing; `include`', 'os': 'base, `core/a.h`', 'core': 'nothing',
                'daemon': 'os'}

        def found(rows):
            page = ''.join(f'| `src/{name}` | does | {may} |\n' for name, may in rows.items())
            return self.found({'CMakeLists.txt': lines, 'ARCHITECTURE.md': page})
        self.assertEqual(found(rows), [])
        self.assertEqual(found(rows | {'os': 'base'}), ['ARCHITECTURE.md:2 layer'])
        self.assertEqual(found(rows | {'daemon': 'os, base'}), ['ARCHITECTURE.md:4 layer'])
        del rows['base']
        self.assertEqual(found(rows), ['ARCHITECTURE.md:1 layer'])

    def test_a_layer_in_a_group_is_as_one_outside(self):
        lines = HASH + 'add_layer(shared/base)\nadd_layer(daemon/core LINKS base)\n' \
                       'add_layer(guard)\nadd_program(x daemon/main.cc LINKS core)\n'
        page = ('| `src/shared/base` | does | nothing |\n| `src/daemon/core` | does | base |\n'
                '| `src/guard` | does | nothing |\n| `src/daemon` | does | core |\n')

        def found(path, text, page=page):
            return self.found({'CMakeLists.txt': lines, 'ARCHITECTURE.md': page, path: text,
                               'src/daemon/core/a.h': SAYS + '#pragma once\n'})
        self.assertEqual(found('docs/a.md', '# A\n\n`src/shared/base/` `src/daemon/`\n'), [])
        self.assertEqual(found('docs/a.md', '# A\n\n`src/base/`\n'), ['docs/a.md:3 doc-name'])
        self.assertEqual(found('docs/a.md', '# A\n', page.replace('shared/base', 'base')),
                         ['ARCHITECTURE.md:1 layer', 'ARCHITECTURE.md:1 doc-name'])
        own = '#include "core/a.h"\n'
        base = '#include "base/b.h"\n'
        self.assertEqual(found('src/daemon/core/a.cc', SAYS + own + base), [])
        self.assertEqual(found('src/daemon/core/a.cc', SAYS + base + own),
                         ['src/daemon/core/a.cc:3 own-header'])
        self.assertEqual(found('src/daemon/main.cc', SAYS + '#include "base/b.h"\n'),
                         ['src/daemon/main.cc:3 layer'])
        upwards = 'src/shared/base/b.cc'
        self.assertEqual(found(upwards, SAYS + own), [upwards + ':3 layer'])
        self.assertEqual(found('src/shared/a.cc', SAYS), ['src/shared/a.cc:1 layer'])
        self.assertEqual(found('src/shared/misc/a.cc', SAYS), ['src/shared/misc/a.cc:1 layer'])

    def test_a_folder_without_a_layer_is_found(self):
        self.assertEqual(self.found({'src/misc/a.cc': SAYS}), ['src/misc/a.cc:1 layer'])

    def test_libraries_stay_behind_their_folders(self):
        self.assert_clean({'src/store/a.cc': SAYS + '#include <sqlite3.h>\n'})
        self.assertEqual(self.found({'src/cli/a.cc': SAYS + '#include <sqlite3.h>\n'}),
                         ['src/cli/a.cc:3 library'])
        self.assertEqual(self.found({'src/core/a.cc': SAYS + '#include <boost/asio.hpp>\n'}),
                         ['src/core/a.cc:3 library'])

    def test_pure_folders_see_no_outside_world(self):
        for line in ('#include <chrono>', '#include <sys/stat.h>',
                     'std::unordered_map<int, int> m;',
                     'std::map<Lease*, int> m;', 'std::set<const Lease *> m;', 'getenv("HOME");',
                     'auto t = steady_clock::now();', 'printf("x");', 'std::cout << 1;'):
            self.assertEqual(self.found({'src/core/a.cc': f'{SAYS}{line}\n'}),
                             ['src/core/a.cc:3 banned'], line)
        self.assert_clean({'src/os/a.cc': SAYS + '#include <chrono>\n#include <sys/stat.h>\n'})
        self.assert_clean({'src/core/a_test.cc': SAYS + '#include <random>\nTEST(A, B) {}\n',
                           'CMakeLists.txt': HASH + 'add_layer(core)\n'})

    def test_banned_words_are_found_in_code(self):
        for line in ('using namespace std;', 'auto* p = new Lease;', 'delete p;', 'delete[] p;',
                     'thread.detach();', 'std::this_thread::sleep_for(x);', 'usleep(5);',
                     'out << std::endl;', 'assert(x);', 'throw 1;', 'atoi(text);', 'system("x");'):
            self.assertEqual(self.found({'src/os/a.cc': f'{SAYS}{line}\n'}),
                             ['src/os/a.cc:3 banned'], line)

    def test_comments_literals_and_deleted_functions_are_no_use_of_a_word(self):
        self.assert_clean({'src/os/a.cc': SAYS + (
            '// throw, new and delete are banned.\n/* assert(x)\n   using namespace std; */\n'
            'auto a = "throw new"; auto b = \'"\'; auto c = 1\'000; auto d = R"(delete p;)";\n'
            'A(int) = delete;\nvoid operator delete(void* p);\nint renew = 1;\n'
            'static_assert(true);\nnew (place) Lease;\n')})

    def test_preprocessor_stays_in_its_folders(self):
        self.assertEqual(self.found({'src/core/a.cc': SAYS + '#if X\n#define Y\n#endif\n'}),
                         ['src/core/a.cc:3 preprocessor', 'src/core/a.cc:4 preprocessor'])
        self.assert_clean({'CMakeLists.txt': HASH + 'add_layer(shared/os)\n',
                           'src/shared/os/a.cc': SAYS + '#if X\n#endif\n'})

    def test_shared_ownership_is_explained(self):
        self.assertEqual(self.found({'src/server/a.cc': SAYS + '\nstd::shared_ptr<A> a;\n'}),
                         ['src/server/a.cc:4 shared_ptr'])
        self.assert_clean({'src/server/a.cc': SAYS + '// Two own it.\nstd::shared_ptr<A> a;\n'})

    def test_unwanted_words_are_found_in_every_text(self):
        for text in ('FIX' + 'ME', 'TO' + 'DO: later', 'see /ro' + 'ot/x',
                     'as iss' + 'ue 12 says', 'Decis' + 'ion 9 holds'):
            self.assertEqual(self.found({'docs/a.md': f'# A\n{text}\n'}), ['docs/a.md:2 unwanted'])
        self.assert_clean({'docs/a.md': 'at work/root, framework/ and an issue of 2\n'})

    def test_users_read_no_words_of_a_private_dialect(self):
        for text in ('A stranger came', 'Another world', 'the asker', 'for himself', 'He may'):
            self.assertEqual(self.found({'docs/a.md': f'# A\n{text}\n',
                                         'src/cli/a.cc': SAYS + f'say("{text}");  // A world\n'}),
                             ['docs/a.md:2 wording', 'src/cli/a.cc:3 wording'])
            self.assert_clean({'docs/decisions/0001-a.md': f'# 1 A\n{text}\n',
                               'CHANGELOG.md': text, 'CMakeLists.txt': HASH + 'add_layer(cli)\n',
                               'src/cli/a_test.cc': SAYS + f'TEST(A, B) {{ say("{text}"); }}\n'})
        self.assert_clean({'docs/a.md': 'The `world`:\n```\nworld=1; the world\n```\nothers\n',
                           'src/cli/a.cc': SAYS + 'key("world"); add("; world=");  // Its world\n'})

    def test_comments_name_who_acts(self):
        for text in ('// Whoever asks waits.', 'int x;  // Of somebody else.', '/* He may */',
                     '// The asker ends.', '// For strangers.', '/// An outsider.'):
            for path in ('src/core/a.cc', 'simgpu/a.cc', 'tests/e2e/a.cc', 'include/berth/a.cc'):
                self.assertEqual(self.found({path: f'{SAYS}{text}\n'}), [path + ':3 comment'], text)
        self.assertEqual(self.found({'src/os/a.cc': SAYS + '\n/* It\n   and him. */\n'}),
                         ['src/os/a.cc:5 comment'])
        self.assertEqual(self.found({'src/os/a.cc': HEAD + '// What it is for.\n'}),
                         ['src/os/a.cc:2 comment'])
        self.assert_clean({'src/os/a.cc': SAYS + 'auto his = "//asker";  // The shell.\n',
                           'CHANGELOG.md': '1\n// What he wants\n'})

    def test_identifiers_have_the_words_of_the_glossary(self):
        glossary = '| word | meaning | not |\n|---|---|---|\n| **thaw** | x | `halter`, `go_on` |\n'
        for name in ('halter', 'halters_halter', 'kHalterMax', 'GoOnToken', 'go_on_', 'let_go_on'):
            self.assertEqual(self.found({'docs/glossary.md': glossary,
                                         'src/os/a.cc': f'{SAYS}int {name} = 1;\n'}),
                             ['src/os/a.cc:3 word'], name)
        self.assert_clean({'docs/glossary.md': glossary,
                           'include/berth/a.h': HEADER + 'int halter;\n',
                           'src/os/a.cc': SAYS + '// halter\nint go, halters; auto a = "go_on";\n'})

    def test_commits_say_what_they_do_and_why(self):
        def rules(subject, body, lines):
            with tempfile.TemporaryDirectory() as root:
                def git(*words):
                    subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *words],
                                   cwd=root, check=True, capture_output=True)
                git('init', '-q')
                with open(os.path.join(root, 'a.txt'), 'w', encoding='utf-8') as stream:
                    stream.write('x\n' * lines)
                git('add', 'a.txt')
                git('commit', '-q', '-m', subject, *(['-m', body] if body else []))
                return [found.rule for found in tidy.check_commits(root)]
        self.assertEqual(rules('core: add a thing', '', 20), [])
        self.assertEqual(rules('core: add a thing', 'Cause.', 21), [])
        self.assertEqual(rules('core: add a thing', '', 21), ['commit'])
        for subject in ('what differs is held', 'a thing is added', 'added a thing', 'adding it',
                        'who asks is told', 'no thing is left'):
            self.assertEqual(rules('core: ' + subject, '', 1), ['commit'], subject)

    def test_a_file_says_its_licence_and_its_purpose(self):
        self.assertEqual(self.found({'src/os/a.cc': 'int x;\n'}), ['src/os/a.cc:1 head'])
        self.assertEqual(self.found({'src/os/a.cc': HEAD + 'int x;\n'}), ['src/os/a.cc:2 head'])
        self.assertEqual(self.found({'tools/a.py': 'x = 1\n'}), ['tools/a.py:1 head'])
        self.assertEqual(self.found({'src/os/a.h': SAYS}), ['src/os/a.h:1 head'])
        self.assert_clean({'src/os/a.h': HEADER, 'tools/a.py': '#!/usr/bin/python3\n' + HASH,
                           'src/os/a.cc': HEAD + '#include "os/a.h"\n',
                           'src/os/a_test.cc': HEAD + 'TEST(A, B) {}\n',
                           'CMakeLists.txt': HASH + 'add_layer(os)\n'})

    def test_a_source_includes_its_own_header_first(self):
        self.assertEqual(
            self.found({'src/os/a.h': HEADER,
                        'src/os/a.cc': HEAD + '#include <string>\n#include "os/a.h"\n'}),
            ['src/os/a.cc:2 own-header'])

    def test_sizes_are_bounded(self):
        self.assertEqual(self.found({'src/os/a.cc': SAYS + '\n' * 499}),
                         ['src/os/a.cc:1 file-size'])
        self.assert_clean({'src/os/a.cc': SAYS + '\n' * 498})
        self.assertEqual(self.found({'src/os/a.cc': SAYS + '//' + 'x' * 99 + '\n'}),
                         ['src/os/a.cc:3 columns'])
        body = 'void long_one() {\n%s}\n'
        self.assertEqual(self.found({'src/os/a.cc': SAYS + body % ('  f();\n' * 69)}),
                         ['src/os/a.cc:3 function-size'])
        self.assert_clean({'src/os/a.cc': SAYS + body % ('  f();\n' * 68)})
        self.assertEqual(self.found({'src/os/a.h': HEADER + 'inline ' + body % ('  f();\n' * 69)}),
                         ['src/os/a.h:4 function-size'])

    def test_classes_are_bounded(self):
        def found(kind, *lines):
            text = f'{kind} A {{\n' + '\n'.join(lines) + '\n};\n'
            return self.found({'src/os/a.h': HEADER + text})
        for kind in ('class', 'struct'):
            methods = [f'  void do_{n}(int a);' for n in range(20)]
            methods += [f'  int get_{n}() EXCLUDES(mutex_) {{ return 1; }}' for n in range(20)]
            self.assertEqual(found(kind, *methods), [])
            self.assertEqual(found(kind, *methods, '  A();'), ['src/os/a.h:4 methods'])
            cases = [f'  bool operator()(const B{n}& b) const;' for n in range(50)]
            self.assertEqual(found(kind, *methods[1:], *cases), [])  # A visitor is one method.
            self.assertEqual(found(kind, *methods, *cases), ['src/os/a.h:4 methods'])
            members = [f'  int a{n}_ GUARDED_BY(mutex_) = 0;' for n in range(20)]
            self.assertEqual(found(kind, '  static constexpr int kMax = 1;', *members), [])
            self.assertEqual(found(kind, *members, '  std::vector<int> b_;'),
                             ['src/os/a.h:4 members'])
            inner = ['  struct B {', *members, '  };', *members]
            self.assertEqual(found(kind, *inner), [])
            self.assertEqual(found(kind, '  int c_;', *inner), ['src/os/a.h:4 members'])

    def test_a_noun_has_more_members_than_a_class(self):
        def found(members, name):
            lines = ''.join(f'  int a{n};\n' for n in range(members))
            text = f'struct A {{\n{lines}}};\n'
            table = f'constexpr auto fields_of(Is<{name}> auto*) {{\n  return fields();\n}}\n'
            return self.found({'src/os/a.h': HEADER + text + table})
        self.assertEqual(found(40, 'A'), [])
        self.assertEqual(found(41, 'A'), ['src/os/a.h:4 members'])
        self.assertEqual(found(21, 'B'), ['src/os/a.h:4 members'])

    def test_what_a_class_declares_counts_once_and_in_its_own_file(self):
        methods = ''.join(f'  void do_{n}();\n' for n in range(40))
        members = ''.join(f'  int a{n};\n' for n in range(20))
        body = ''.join(f'void A::do_{n}() {{}}\n' for n in range(40))
        one = f'class A {{\n{methods}{members}}};\n'
        self.assert_clean({'src/os/a.h': HEADER + one,
                           'src/os/a.cc': HEAD + '#include "os/a.h"\n' + body,
                           'src/base/a.cc': SAYS + one})
        special = ''.join(f'template <> struct B<{kind}> {{\n{"int a;" * 11}\n}};\n'
                          for kind in ('int', 'bool'))
        self.assert_clean({'src/os/a.cc': SAYS + special})
        more = SAYS + 'struct A {\n' + members + '  int b;\n};\n'
        for path in ('src/os/a_test.cc', 'src/os/a_for_test.h', 'src/shared/abi/a.h', 'bench/a.cc'):
            cmake = {'CMakeLists.txt': HASH + 'add_layer(os)\nadd_layer(shared/abi)\n'}
            self.assert_clean(cmake | {path: more + '#pragma once\nTEST(A, B) {}\n'})

    def test_an_exception_names_its_class(self):
        text = ''.join(f'struct {name} {{\n{"int a;" * 10}\n{"int a;" * more}\n}};\n'
                       for name, more in (('A', 11), ('B', 12)))
        path = 'src/os/a.cc'
        self.set(tidy, 'EXCEPTIONS_MAX', 2)
        entries = f'members {path}:A 21\nmembers {path}:B 22\n'
        self.assert_clean({path: SAYS + text, tidy.EXCEPTIONS: entries})
        stale = entries.replace('22', '23')
        self.assertEqual(self.found({path: SAYS + text, tidy.EXCEPTIONS: stale}),
                         [f'{path}:7 members', f'{tidy.EXCEPTIONS}:2 exceptions'])

    def test_without_universal_ctags_nothing_passes(self):
        with unittest.mock.patch('shutil.which', return_value=None):
            self.assertEqual(self.found({tidy.EXCEPTIONS: 'members src/os/a.cc:A 21\n'}),
                             ['tools/tidy.py:1 ctags'])
        with tempfile.TemporaryDirectory() as other:  # Exuberant Ctags does not know the options.
            with open(os.path.join(other, 'ctags'), 'w', encoding='utf-8') as stream:
                stream.write('#!/bin/sh\nexit 1\n')
            os.chmod(stream.name, 0o755)
            with unittest.mock.patch.dict('os.environ', PATH=f'{other}:{os.environ["PATH"]}'):
                self.assertEqual(self.found({}), ['tools/tidy.py:1 ctags'])

    def test_the_coordinator_states_what_must_hold(self):
        self.set(tidy_tags, 'CHECKS_MIN', 0.5)
        self.set(tidy_tags, 'CHECKS_SLACK', 0.25)

        def found(checks, path='src/daemon/core/a.cc'):
            text = ''.join(f'void f{n}() {{\n  {"CHECK(a);" * (n < checks)}  // CHECK(b)\n}}\n'
                           for n in range(8))
            return self.found({path: SAYS + text,
                               'CMakeLists.txt': HASH + 'add_layer(daemon/core)\nadd_layer(os)\n'})
        self.assertEqual(found(3), ['src/daemon/core/:1 checks'])
        self.assertEqual(found(4), [])
        self.assertEqual(found(5), [])
        self.assertEqual(found(6), ['src/daemon/core/:1 checks'])  # The least can be raised.
        self.assertEqual(found(0, 'src/os/a.cc'), [])
        self.assertEqual(found(0, 'src/daemon/core/policies/a.cc'), ['src/daemon/core/:1 checks'])

    def test_a_negation_in_the_middle_of_a_bats_test_is_refused(self):
        test = '#!/usr/bin/env bats\n' + HASH + '@test "a" {\n%s}\n'
        path = 'tests/cli/a.bats'
        def found(body):
            return [one for one in self.found({path: test % body}) if one.endswith('cannot-fail')]
        for good in ('  ! grep x y\n', '  ! grep x y\n  # Last.\n\n',
                     '  ! a || skip "b"\n  c\n', '  fails grep x y\n  c\n',
                     '  if ! a; then\n    b\n  fi\n  c\n',
                     '  never() {\n    ! a\n  }\n  never\n',
                     '  gone() { a; b && ! alive; }\n  gone\n', '  [[ a && ! -e b ]]\n  c\n',
                     '  while a || ! b; do\n    c\n  done\n', '  echo "x; ! y"\n  c\n',
                     '  a # || ! b\n  c\n', '  b && ! a\n', '  wait $! || c\n  d\n'):
            self.assertEqual(found(good), [], good)
        for bad in ('  ! grep x y\n  c\n', '  ! wait "$a"\n\n  c\n',
                    '  for i in 1 2; do\n    ! a\n  done\n',
                    '  ! grep "a||b" y\n  c\n', "  ! grep 'a || b' y\n  c\n",
                    '  ! a || true\n  c\n', '  ! a || :\n  c\n', '  ! a || true\n',
                    '  {\n    ! a\n  }\n  c\n', '  b && {\n    ! a\n  }\n  c\n',
                    '  b; ! a\n  c\n', '  b && ! a\n  c\n', '  b || ! a\n  c\n',
                    '  if b; then ! a; fi\n  c\n', '  { ! a; }\n  c\n', '  ! a; b\n',
                    '  f() { ! a; b; }\n  f\n'):
            self.assertEqual(len(found(bad)), 1, bad)

    def test_so_it_is_in_what_bats_files_and_scripts_of_bash_share(self):
        text = HASH + 'f() {\n  ! a\n  b\n}\n'
        self.assertEqual(self.found({'tests/a.bash': text}), ['tests/a.bash:3 cannot-fail'])
        self.assertEqual(self.found({'tests/run': '#!/usr/bin/env bash\n' + text}),
                         ['tests/run:4 cannot-fail'])
        self.assert_clean({'tests/run': '#!/usr/bin/env python3\n' + text})

    def test_a_cited_note_is_told_once(self):
        told = {'src/os/a.cc': SAYS + '// Note [A thing]: it is so.\n'}
        cites = {'src/os/b.cc': SAYS + 'f();  // See Note [A thing].\n'}
        self.assert_clean(told | cites)
        self.assertEqual(self.found(cites), ['src/os/b.cc:3 note'])
        self.assertEqual(self.found(told | {'src/os/c.cc': told['src/os/a.cc']}),
                         ['src/os/c.cc:3 note'])

    def test_what_a_document_names_exists(self):
        source = {'src/os/a.cc': SAYS + 'struct Lease {}; void grant_all(); // BERTH_SIM\n',
                  'dev': '#!/bin/bash\n' + HASH + 'verb_test() { :; }\n'}
        good = ('`src/sim/` `src/os/a.cc` `src/os/*.cc` `docs/` `src/<layer>` `grant_all()` '
                '`Lease` `os::Lease` `BERTH_SIM` [here](a.md) [there](a.md#b) [web](https://x/y) '
                '`std::flat_map` `./dev test`\n')
        self.assert_clean(source | {'docs/a.md': good})
        for bad in ('`src/misc/`', '`src/os/b.cc`', '`src/*/b.cc`', '`grant_none()`',
                    '`Coordinator::stop`', '`BERTH_NONE`', '[x](b.md)', '`./dev nothing`'):
            self.assertEqual(self.found(source | {'docs/a.md': f'# A\n\n{bad}\n'}),
                             ['docs/a.md:3 doc-name'], bad)
        self.assert_clean({'docs/decisions/0001-a.md': '# 1 A\n\nIt was in `src/os/gone.cc`.\n'})

    def test_a_test_that_nothing_runs_is_found(self):
        test = {'src/os/a_test.cc': SAYS + 'TEST(A, B) {}\n'}
        built = {'CMakeLists.txt': HASH + 'add_layer(os)\n'}
        self.assert_clean(test | built)
        program = {'CMakeLists.txt': HASH + 'add_program(x os/main.cc)\n'}
        self.assertEqual(self.found(test | program), ['src/os/a_test.cc:1 dead-test'])
        self.assertEqual(self.found(built | {'src/os/a_test.cc': SAYS}),
                         ['src/os/a_test.cc:1 dead-test'])
        off = {'src/os/a_test.cc': SAYS + 'TEST(A, DISABLED_B) {}\n'}
        self.assertEqual(self.found(built | off), ['src/os/a_test.cc:3 dead-test'])
        self.assertEqual(self.found({'bench/a_test.cc': test['src/os/a_test.cc']}),
                         ['bench/a_test.cc:1 dead-test'])
        self.assertEqual(self.found({'tests/a.bats': HASH}), ['tests/a.bats:1 dead-test'])
        self.assertEqual(self.found({'src/a_test.py': HASH}), ['src/a_test.py:1 dead-test'])

    def test_an_exception_is_exact_and_their_number_is_held(self):
        long_file = {'src/os/a.cc': SAYS + '\n' * 510}
        entry = {'tools/tidy_exceptions.txt': 'file-size src/os/a.cc 512\n'}
        stale = {'tools/tidy_exceptions.txt': 'file-size src/os/a.cc 520\n'}
        self.set(tidy, 'EXCEPTIONS_MAX', 0)
        self.assertEqual(self.found(long_file | entry), ['tools/tidy_exceptions.txt:1 exceptions'])
        self.set(tidy, 'EXCEPTIONS_MAX', 1)
        self.assert_clean(long_file | entry)
        self.assertEqual(self.found(long_file | stale),
                         ['src/os/a.cc:1 file-size', 'tools/tidy_exceptions.txt:1 exceptions'])

    def test_the_program_ends_with_1_where_it_finds_something(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tidy.py')
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(subprocess.run([sys.executable, program, root],
                                            stdout=subprocess.DEVNULL).returncode, 0)
            with open(os.path.join(root, 'a.py'), 'w', encoding='utf-8') as stream:
                stream.write('x = 1\n')
            run = subprocess.run([sys.executable, program, root], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertIn('a.py:1: [head] ', run.stdout)


if __name__ == '__main__':
    unittest.main()
