#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md says what `berth help` says: the same verbs, the same options of each, all exit
statuses, all variables. build_dir in the environment says where berth is."""
import os
import re
import subprocess
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
OPTION = re.compile(r'(?<![\w-])--?[a-zA-Z][\w-]*(?:\[=\w+\]|=[\w.,=]+)?')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as stream:
        return stream.read()


def berth(*words):
    program = os.path.join(os.environ.get('build_dir', os.path.join(ROOT, 'build/release')),
                           'bin/berth')
    return subprocess.run([program, *words], capture_output=True, text=True, check=True,
                          env={'LC_ALL': 'C.UTF-8', 'COLUMNS': '100'}).stdout


def sections(text):
    """Heading -> what stands below it, up to the next heading."""
    parts = re.split(r'^(#+ .*)$', text, flags=re.M)
    return {heading.lstrip('# ').strip('`'): body
            for heading, body in zip(parts[1::2], parts[2::2])}


def options_in(text):
    return set(OPTION.findall(text))


def options_of_rows(text):
    """Those in the first cell of each row of a table, and of the list of later ones."""
    found = set()
    for row in re.findall(r'^\| (`-.*?) \|', text, flags=re.M):
        found |= options_in(row)
    for listed in re.findall(r'for a later version: (.*?)\n\n', text, flags=re.S):
        found |= options_in(listed)
    return found


def options_of_help(verb):
    # "  -m, --vram=SIZE   memory …": nothing but names stands before two blanks or the line's end.
    found = set()
    names = r'^  ((?:-\w, |    |-\w)(?:--\S+)?)(?:  |$)'
    for left in re.findall(names, berth(verb, '--help'), flags=re.M):
        found |= options_in(left)
    return found


class CliPage(unittest.TestCase):
    def setUp(self):
        self.page = read('docs/cli.md')
        self.sections = sections(self.page)

    def verbs(self):
        return re.findall(r'^  ([a-z]+)  +\S', berth('help'), flags=re.M)

    def test_each_verb_has_a_section_and_no_other_has(self):
        told = [name[len('berth '):] for name in self.sections if name.startswith('berth ')]
        self.assertEqual(sorted(told), sorted(self.verbs()))
        self.assertGreater(len(told), 10)

    def test_options_are_those_of_the_help(self):
        every = options_of_rows(self.sections['What each verb has'])
        output = options_of_rows(self.sections['Output'])
        watching = options_of_rows(self.sections['Watching'])
        self.assertTrue(every and output and watching)
        for verb in self.verbs():
            text = self.sections['berth ' + verb]
            told = options_of_rows(text) | every
            told |= output if '(#output)' in text else set()
            told |= watching if '(#watching)' in text else set()
            if 'has the options of [`berth run`]' in text.replace('\n', ' '):
                told |= options_of_rows(self.sections['berth run'])
            self.assertEqual(told, options_of_help(verb), verb)

    def test_usage_is_that_of_the_help(self):
        for verb in self.verbs():
            usage = re.search(r'^Usage: (.*)$', berth(verb, '--help'), flags=re.M)[1]
            self.assertIn(f'`{usage}`', self.sections['berth ' + verb])

    def test_exit_statuses_are_those_of_the_code(self):
        codes = set(re.findall(r'= (\d+),', read('src/shared/wire/exit_status.h')))
        told = set(re.findall(r'^\| (\d+) \|', self.sections['Exit status'], flags=re.M))
        self.assertEqual(told, codes)

    def test_variables_are_those_of_the_code(self):
        used = set()
        for folder in ('client', 'daemon', 'shared'):
            for place, _, names in os.walk(os.path.join(ROOT, 'src', folder)):
                if place.endswith('/deliver'):  # What it gives to commands of alerts.
                    continue
                for name in names:
                    if name.endswith(('.cc', '.h')) and '_test' not in name:
                        text = read(os.path.relpath(os.path.join(place, name), ROOT))
                        used |= set(re.findall(r'"(BERTH_[A-Z_]+)=?"', text))
        told = set(re.findall(r'`(BERTH_[A-Z_]+)`', self.sections['Environment']))
        self.assertEqual(used - told, set(), 'not told of')
        self.assertEqual(told - used - {'BERTH_SIM_DIR'}, set(), 'not used')


if __name__ == '__main__':
    unittest.main()
