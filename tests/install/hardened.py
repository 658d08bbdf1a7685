#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks whether all that is installed is hardened: usage: hardened.py BUILD PREFIX. It reads ELF
files by itself, so that it needs no tool that may not be there. An import shows only that some
object has a flag, perhaps one of a library's; so each command of the build is looked at too."""
import json
import os
import platform
import shlex
import struct
import sys

PT_DYNAMIC, PT_NOTE, PT_GNU_STACK, PT_GNU_RELRO = 2, 4, 0x6474e551, 0x6474e552
# Of the psABI's supplement for x86-64. Notes, since not each linker makes a PT_GNU_PROPERTY.
GNU_PROPERTIES = b'\5\0\0\0GNU\0'  # A note's type and owner.
X86_FEATURE_1_AND, IBT, SHSTK = 0xc0000002, 1, 2
DT_STRTAB, DT_FLAGS, DT_FLAGS_1 = 5, 30, 0x6ffffffb
ET_DYN, PF_X, DF_BIND_NOW, DF_1_NOW, SHT_DYNSYM = 3, 1, 8, 1, 11
# They take from the C library what src/guard/imports.txt lists, and nothing besides.
BARE = ('libberth-guard.so', 'libberth-audit.so')
BARE_SOURCES = 'src/guard/'
FLAGS = ('-fstack-protector-strong', '-D_GLIBCXX_ASSERTIONS')
NO_FLAGS = ('-fno-stack-protector', '-U_GLIBCXX_ASSERTIONS', '-fcf-protection=none',
            '-D_FORTIFY_SOURCE=0')


class Elf:
    def __init__(self, data):
        self.data = data
        head = struct.unpack_from('<16xHHIQQQIHHHHHH', data, 0)
        self.type, self.segments_at, self.sections_at = head[0], head[4], head[5]
        self.segment_count, self.section_count = head[9], head[11]

    def segments(self):
        for i in range(self.segment_count):
            kind, flags, at, _, _, size = struct.unpack_from('<IIQQQQ', self.data,
                                                             self.segments_at + 56 * i)
            yield kind, flags, at, size

    def dynamic(self):
        found = {}
        for kind, _, at, size in self.segments():
            if kind == PT_DYNAMIC:
                for entry in range(at, at + size, 16):
                    tag, value = struct.unpack_from('<QQ', self.data, entry)
                    found[tag] = value
        return found

    def x86_features(self):
        for kind, _, at, _ in self.segments():
            if kind != PT_NOTE or self.data[at + 8:at + 16] != GNU_PROPERTIES:
                continue
            end = at + 16 + struct.unpack_from('<I', self.data, at + 4)[0]
            entry = at + 16  # Each property is padded to 8 bytes.
            while entry + 8 <= end:
                what, length = struct.unpack_from('<II', self.data, entry)
                if what == X86_FEATURE_1_AND:
                    return struct.unpack_from('<I', self.data, entry + 8)[0]
                entry += 8 + (length + 7) // 8 * 8
        return 0

    def sections(self):
        for i in range(self.section_count):
            yield struct.unpack_from('<IIQQQQIIQQ', self.data, self.sections_at + 64 * i)

    def imports(self):
        sections = list(self.sections())
        for section in sections:
            if section[1] != SHT_DYNSYM:
                continue
            names = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, _, _, defined = struct.unpack_from('<IBBH', self.data, at)
                if defined == 0:
                    end = self.data.index(b'\0', names + name)
                    yield self.data[names + name:end].decode()


def faults(path, sanitized):
    with open(path, 'rb') as stream:
        elf = Elf(stream.read())
    kinds = {kind: flags for kind, flags, _, _ in elf.segments()}
    dynamic = elf.dynamic()
    if elf.type != ET_DYN:
        yield 'lies at a fixed address'
    if PT_GNU_RELRO not in kinds:
        yield 'has no RELRO'
    if not (dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW or dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW):
        yield 'is bound lazily'
    if kinds.get(PT_GNU_STACK, PF_X) & PF_X:
        yield 'has a stack that can be run'
    imports = set(elf.imports())
    guarded = '__stack_chk_fail' in imports
    fortified = any(name.endswith('_chk') for name in imports)
    if os.path.basename(path) in BARE:
        if guarded or fortified:
            yield 'takes more from the C library than it may'
        # The others lose this mark to the static libraries in them.
        if platform.machine() == 'x86_64' and elf.x86_features() & (IBT | SHSTK) != IBT | SHSTK:
            yield 'is not marked for control-flow enforcement'
    elif not guarded:
        yield 'has no stack protector'
    elif not fortified and not sanitized:
        yield 'has no fortified call'


def faults_of_commands(commands, root, sanitized):
    needed = list(FLAGS)
    if platform.machine() == 'x86_64':
        needed.append('-fcf-protection=full')
    if not sanitized:
        needed.append('-D_FORTIFY_SOURCE=2')
    count = 0
    for command in commands:
        source = os.path.relpath(command['file'], root)
        if not source.startswith(('src/', 'simgpu/')) and '/joined/' not in source:
            continue
        count += 1
        words = shlex.split(command['command'])
        for flag in needed:
            if flag not in words:
                yield f'{source} is compiled without {flag}'
        if source.startswith(BARE_SOURCES):
            continue
        for flag in NO_FLAGS:
            if flag in words:
                yield f'{source} is compiled with {flag}'
    if count < 50:
        yield f'compile_commands.json names {count} sources of ours only'


def main():
    build, prefix = sys.argv[1:]
    with open(os.path.join(build, 'CMakeCache.txt'), encoding='utf-8') as stream:
        lines = stream.read().splitlines()
    if 'HARDENING:BOOL=OFF' in lines:
        print('skipped: this build is to be measured without it')
        return False
    sanitized = any(line.startswith('SANITIZE:') and not line.endswith('=') for line in lines)
    found, count = [], 0
    for folder, _, names in sorted(os.walk(prefix)):
        for path in sorted(os.path.join(folder, name) for name in names):
            if os.path.islink(path):
                continue
            with open(path, 'rb') as stream:
                if stream.read(4) != b'\x7fELF':
                    continue
            count += 1
            found += [f'{path} {fault}' for fault in faults(path, sanitized)]
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as stream:
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
        found += faults_of_commands(json.load(stream), os.path.realpath(root), sanitized)
    print('\n'.join(found) if found else f'{count} files are hardened')
    return bool(found) or count < 12


if __name__ == '__main__':
    sys.exit(main())
