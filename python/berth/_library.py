# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libberth.so.1, at the first call that needs it. ctypes lets other threads of
Python run while one is in the library."""
from __future__ import annotations

import ctypes
import os
import shutil
import threading
from typing import Any, Callable, List, Optional

from . import _abi, _errors as errors

_NAME = 'libberth.so.1'
_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None


def _places() -> List[str]:
    """Where it may lie: what BERTH_LIBRARY names, beside this package as `cmake --install` puts
    both, as the linker finds it, and beside the `berth` in PATH."""
    if os.environ.get('BERTH_LIBRARY'):
        return [os.environ['BERTH_LIBRARY']]
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.join(here, '..', '..', '..', _NAME), _NAME]
    program = shutil.which('berth')
    if program:
        folder = os.path.dirname(os.path.realpath(program))
        places.append(os.path.join(folder, '..', 'lib', _NAME))
    return [os.path.normpath(place) if os.sep in place else place for place in places]


def _load() -> ctypes.CDLL:
    tried = []
    for place in _places():
        if os.sep in place and not os.path.exists(place):
            tried.append(f'{place}: no such file')
            continue
        try:
            library = ctypes.CDLL(place)
        except OSError as error:
            tried.append(str(error))
            continue
        return _declared(library, place)
    raise errors.LibraryNotFound(
        f'{_NAME} was not found ({"; ".join(tried)}): install Berth, or name the file in '
        'BERTH_LIBRARY')


def _declared(library: ctypes.CDLL, place: str) -> ctypes.CDLL:
    library.berth_last_error.restype = ctypes.c_char_p
    library.berth_version.restype = ctypes.c_char_p
    library.berth_abi.restype = ctypes.c_uint32
    for name, arguments in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise errors.LibraryNotFound(
                f'{place} is older than this package and has no {name}: install both of one '
                'version') from None
        function.argtypes = arguments
        function.restype = ctypes.c_int32
    return library


def library() -> ctypes.CDLL:
    """LibraryNotFound, naming where it was looked for."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _load()
    return _library


def call(name: str, *arguments: Any) -> int:
    """What the function returned: a status."""
    status: int = getattr(library(), name)(*arguments)
    return status


def last_error() -> str:
    """Of the last call of this thread that failed."""
    text: bytes = library().berth_last_error() or b''
    return text.decode('utf-8', 'replace')


def check(name: str, *arguments: Any) -> None:
    """Calls a function, and raises what it says where it fails."""
    status = call(name, *arguments)
    if status != _abi.STATUS['OK']:
        raise errors.of_status(status, last_error())


def version() -> str:
    """Of libberth."""
    text: bytes = library().berth_version()
    return text.decode()


def close_quietly(name: str, handle: int) -> None:
    """For finalizers: a handle that is stale, after a fork, is none."""
    loaded = _library
    if loaded is not None:
        close: Callable[[int], int] = getattr(loaded, name)
        close(handle)
