#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package as it is handed on: for Python 3.8 by its syntax, of this version, and as a wheel
that is built without a network."""
import ast
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import berth

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
SOURCES = sorted(glob.glob(os.path.join(ROOT, 'python/berth/*.py')))


def read(path):
    with open(path, encoding='utf-8') as stream:
        return stream.read()


def can_make_wheels():
    found = importlib.util.find_spec
    return found('setuptools') and (found('setuptools.command.bdist_wheel') or found('wheel'))


class Package(unittest.TestCase):
    def test_its_syntax_is_that_of_3_8(self):
        self.assertGreater(len(SOURCES), 8)
        for path in SOURCES:
            ast.parse(read(path), path, feature_version=(3, 8))

    def test_all_that_is_public_is_there_and_told(self):
        page = read(os.path.join(ROOT, 'docs/python.md'))
        for name in berth.__all__:
            self.assertTrue(hasattr(berth, name), name)
            self.assertRegex(page, rf'\b{name}\b')

    def test_it_is_of_the_version_of_the_library(self):
        told = re.search(r'^version = "(.*)"$', read(os.path.join(ROOT, 'python/pyproject.toml')),
                         flags=re.M)[1]
        self.assertEqual(told, berth.version())

    def test_a_library_that_is_not_there_is_named(self):
        text = 'import berth\ntry: berth.session()\nexcept berth.LibraryNotFound as e: print(e)'
        told = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True,
                              check=True, env={**os.environ, 'BERTH_LIBRARY': '/nowhere/lib.so'})
        self.assertIn('/nowhere/lib.so: no such file', told.stdout)
        self.assertIn('BERTH_LIBRARY', told.stdout)

    def test_the_wheel_has_all_and_needs_no_network(self):
        if not can_make_wheels():
            self.skipTest('SKIPPED: setuptools and wheel are not both here; no wheel was built')
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(ROOT, 'python'), folder + '/python',
                            ignore=shutil.ignore_patterns('__pycache__'))
            subprocess.run(
                [sys.executable, '-c', 'import setuptools.build_meta as b; b.build_wheel("..")'],
                cwd=folder + '/python', check=True, capture_output=True)
            with zipfile.ZipFile(glob.glob(folder + '/berth-*-py3-none-any.whl')[0]) as wheel:
                names = set(wheel.namelist())
        wanted = {'berth/' + os.path.basename(path) for path in SOURCES} | {'berth/py.typed'}
        self.assertEqual(wanted - names, set())


if __name__ == '__main__':
    unittest.main()
