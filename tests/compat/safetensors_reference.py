#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our safetensors files against the reference library, both ways: what it writes we read, and
what we write it reads, each tensor and the metadata the same. Without that library it ends with 77,
and says so. Usage: safetensors_reference.py TENSOR_COPY
"""
import os
import struct
import subprocess
import sys
import tempfile

try:
    import safetensors
except ImportError:
    print('SKIPPED: the reference library (python3 -c "import safetensors") is not installed here; '
          'nothing was compared with it')
    sys.exit(77)

SAMPLES = {
    'scalar': ('float32', [], struct.pack('<f', 1.5)),
    'empty': ('float32', [3, 0], b''),
    'matrix': ('float16', [2, 3], bytes(range(12))),
    'brain': ('bfloat16', [5], bytes(range(10))),
    'wide': ('float64', [2], struct.pack('<2d', -0.0, 1e300)),
    'flags': ('bool', [3], b'\x01\x00\x01'),
    'ints "quoted" ä': ('int64', [1, 1, 2], struct.pack('<2q', -1, 2 ** 62)),
    'small': ('uint8', [7], bytes(range(7))),
}
METADATA = {'format': 'pt', 'note': 'line\nä "quoted"'}


def tensors():
    return {name: {'dtype': dtype, 'shape': shape, 'data': data}
            for name, (dtype, shape, data) in SAMPLES.items()}


def read_by_reference(path):
    with open(path, 'rb') as stream:
        found = dict(safetensors.deserialize(stream.read()))
    return {name: (list(info['shape']), bytes(info['data']), info['dtype'])
            for name, info in found.items()}


def main():
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = os.path.join(folder, 'theirs'), os.path.join(folder, 'ours')
        safetensors.serialize_file(tensors(), theirs, METADATA)
        subprocess.run([sys.argv[1], theirs, ours], check=True)
        expected, found = read_by_reference(theirs), read_by_reference(ours)
        assert set(expected) == set(SAMPLES), expected
        for name, (_, shape, data) in SAMPLES.items():
            assert expected[name][:2] == (shape, data), name
            assert found[name] == expected[name], (name, found[name], expected[name])
        with open(ours, 'rb') as stream:
            head = stream.read()
        length = struct.unpack('<Q', head[:8])[0]
        assert b'"note":"line\\n' in head[8:8 + length], 'the metadata is gone'
    print(f'{len(SAMPLES)} tensors compared both ways with safetensors '
          f'{getattr(safetensors, "__version__", "?")}')


if __name__ == '__main__':
    main()
