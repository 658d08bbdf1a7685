#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python/berth/_abi.py says what berth/berth.h and berth/estimate.h say: the same structures with
the same fields, and the same functions; and the library that is loaded has them."""
import ctypes
import os
import re
import unittest

from berth import _abi, _library

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
SCALARS = {'uint32_t': ctypes.c_uint32, 'int32_t': ctypes.c_int32, 'uint64_t': ctypes.c_uint64,
           'double': ctypes.c_double, 'berth_figure': _abi.berth_figure, 'size_t': ctypes.c_size_t,
           'berth_session': ctypes.c_uint64, 'berth_vram_manager': ctypes.c_uint64,
           'berth_batch': ctypes.c_uint64}


def header():
    text = ''
    for name in ('berth.h', 'estimate.h'):
        with open(os.path.join(ROOT, 'include/berth', name), encoding='utf-8') as stream:
            text += re.sub(r'//[^\n]*', '', stream.read())
    return text


def fields_of(body):
    """(name, type or None for a function) of what stands in a structure."""
    for declared in filter(str.strip, body.split(';')):
        function = re.search(r'\(\*(\w+)\)\(', declared)
        text = re.fullmatch(r'\s*(?:const )?char\s*(\*|)\s*(\w+)(?:\[(\d+)\])?\s*', declared)
        user = re.fullmatch(r'\s*void\* (\w+)\s*', declared)
        if function:
            yield function[1], None
        elif text:
            yield text[2], ctypes.c_char_p if text[1] else ctypes.c_char * int(text[3])
        elif user:
            yield user[1], ctypes.c_void_p
        else:
            kind, points, name = re.fullmatch(r'\s*(?:const )?(\w+)(\*|) (\w+)\s*',
                                              declared).groups()
            yield name, ctypes.POINTER(SCALARS[kind]) if points else SCALARS[kind]


class Abi(unittest.TestCase):
    def setUp(self):
        self.text = header()

    def test_structures_have_the_same_fields(self):
        found = re.findall(r'typedef struct (\w+) \{(.*?)\n\} \1;', self.text, flags=re.S)
        self.assertGreater(len(found), 15)
        for name, body in found:
            ours = getattr(_abi, name)._fields_
            told = list(fields_of(body))
            self.assertEqual([field[0] for field in ours], [field[0] for field in told], name)
            for (field, kind), (_, wanted) in zip(ours, told):
                if wanted is None:
                    self.assertTrue(issubclass(kind, ctypes._CFuncPtr), f'{name}.{field}')
                else:
                    self.assertIs(kind, wanted, f'{name}.{field}')

    def test_functions_take_the_same(self):
        declared = re.findall(r'^berth_status (berth_\w+)\((.*?)\);', self.text, flags=re.M | re.S)
        self.assertGreater(len(declared), 30)
        self.assertEqual({name for name, _ in declared}, set(_abi.FUNCTIONS))
        for name, taken in declared:
            taken = re.sub(r'\(\*\w+\)\([^)]*\)', '*', taken)  # A function is a pointer too.
            ours = _abi.FUNCTIONS[name]
            given = taken.split(',')
            self.assertEqual(len(ours), len(given), name)
            for kind, parameter in zip(ours, given):
                self.assertEqual(hasattr(kind, 'contents') or kind in (
                    ctypes.c_char_p, ctypes.c_void_p), '*' in parameter, f'{name}: {parameter}')

    def test_numbers_are_those_of_the_header(self):
        told = {name: int(value) for name, value in
                re.findall(r'\bBERTH_(\w+) = (\d+)', self.text)}
        for name, number in _abi.STATUS.items():
            self.assertEqual(told[name], number, name)
        for name in ('CLEANUP', 'CHECKPOINT', 'SHRINK', 'OFFLOAD', 'PAUSE', 'RELEASE', 'DONE',
                     'NOT_DONE', 'UNCONFIRMED', 'QUIET', 'HAS_LEASE', 'HAS_DRIVER', 'SIMULATED'):
            self.assertEqual(told[name], getattr(_abi, name), name)
        for prefix, words in (('LEVEL_', _abi.LEVELS), ('EVENT_', _abi.EVENTS),
                              ('BASIS_', _abi.BASES)):
            listed = {name[len(prefix):].lower(): number for name, number in told.items()
                      if name.startswith(prefix)}
            self.assertEqual(listed, {word: number for number, word in enumerate(words) if word})
        self.assertEqual(_abi.ROOM, {told['ROOM_UNKNOWN']: None, told['ROOM_YES']: True,
                                     told['ROOM_NO']: False})
        self.assertEqual([name for name in told if name.startswith('FROM_')],
                         ['FROM_DRIVER', 'FROM_LEDGER', 'FROM_ENVIRONMENT', 'FROM_PROVIDER',
                          'FROM_KERNEL'])
        self.assertEqual(len(_abi.SOURCES), 6)

    def test_the_library_is_of_that_version(self):
        self.assertEqual(_library.library().berth_abi(), _abi.ABI)


if __name__ == '__main__':
    unittest.main()
