#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of run_blocks.py: an example that is not so is found."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'run_blocks.py')


class RunBlocks(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'page.md')
            with open(path, 'w', encoding='utf-8') as stream:
                stream.write(text)
            return subprocess.run([sys.executable, '-B', PROGRAM, path], capture_output=True,
                                  text=True, env=os.environ | {'build_dir': '/nonexistent'})

    def assert_green(self, text, blocks):
        run = self.run_on(text)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn(f'{blocks} blocks run, 0 failed' if blocks else '', run.stdout)

    def assert_red(self, text, says):
        run = self.run_on(text)
        self.assertEqual(run.returncode, 1)
        self.assertIn(says, run.stdout)

    def test_blocks_share_a_world(self):
        self.assert_green('```bash\necho 1 > a; echo "$BERTH_SIM"\n```\n```output\n1x16GiB\n```\n'
                          'text\n```bash\ntest -f a\n```\n', 2)

    def test_only_bash_is_run(self):
        self.assert_green('```sh\nfalse\n```\n```\nfalse\n```\n', 0)

    def test_a_failing_command_is_found_at_its_line(self):
        self.assert_red('# T\n\n```bash\ntrue\n```\n```bash\nfalse | cat\ntrue\n```\n',
                        'page.md:6: ended with 1')

    def test_what_it_writes_is_compared(self):
        block = '```bash\necho lease 12; echo a; echo b; echo end >&2\n```\n'
        for good in ('lease 12\na\nb\nend\n', 'lease …\n…\nend\n', '…\nb\nend\n'):
            self.assert_green(f'{block}```output\n{good}```\n', 1)
        for bad in ('lease 13\na\nb\nend\n', 'lease …\nb\nend\n', '…\nb\n', ''):
            self.assert_red(f'{block}```output\n{bad}```\n', 'page.md:1: wrote something else')

    def test_a_block_that_ends_the_shell_is_found(self):
        self.assert_red('```bash\nexit 3\n```\n```bash\ntrue\n```\n', 'page.md:1: ended with 3')


if __name__ == '__main__':
    unittest.main()
