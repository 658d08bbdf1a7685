# SPDX-License-Identifier: Apache-2.0
"""berth/berth.h and berth/estimate.h as ctypes has them: each structure and function, by its own
name, and nothing else. tests/python/abi_test.py holds it against the headers."""
from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_char, c_char_p, c_double, c_int32, c_size_t, c_uint32,
                    c_uint64, c_void_p)

ABI = 1
NO_END = 2 ** 64 - 1

STATUS = {name: number for number, name in enumerate(
    'OK INVALID STALE NOT_FOUND PERMISSION UNAVAILABLE TIMED_OUT IO FULL CORRUPT OTHER_VERSION '
    'CONFLICT BUSY CALLBACK OUT_OF_MEMORY INTERNAL'.split())}
QUIET = 1
HAS_LEASE, HAS_DRIVER, SIMULATED = 1, 2, 4
CLEANUP, CHECKPOINT, SHRINK, OFFLOAD, PAUSE, RELEASE = 1, 2, 4, 8, 16, 32
DONE, NOT_DONE, UNCONFIRMED = 0, 1, 2
SOURCES = (None, 'driver', 'ledger', 'environment', 'provider', '/proc')
BASES = ('auto', 'budget', 'device', 'allocator')
LEVELS = ('unknown', 'normal', 'warn', 'cleanup', 'critical')
EVENTS = (None, 'level', 'cleanup', 'checkpoint', 'measure', 'phase', 'leak', 'host_leak',
          'leak_over', 'no_more')
ROOM = {0: None, 1: True, 2: False}


class Sized(ctypes.Structure):
    """A structure that begins with its size, which is set."""

    def __init__(self, **values: object) -> None:
        super().__init__(**values)
        self.size = ctypes.sizeof(self)


class berth_figure(ctypes.Structure):
    _fields_ = [('bytes', c_uint64), ('age_ns', c_uint64), ('source', c_uint32),
                ('reserved', c_uint32)]


Say = CFUNCTYPE(None, c_void_p, c_char_p)


class berth_session_options(Sized):
    _fields_ = [('size', c_uint32), ('flags', c_uint32), ('say', Say), ('user', c_void_p)]


class berth_session_facts(Sized):
    _fields_ = [('size', c_uint32), ('flags', c_uint32), ('lease', c_uint64),
                ('device_count', c_uint32), ('reserved', c_uint32)]


class berth_device_facts(Sized):
    _fields_ = [('size', c_uint32), ('driver_index', c_int32), ('total_bytes', c_uint64),
                ('uuid', c_char * 48), ('name', c_char * 96)]


class berth_request(Sized):
    _fields_ = [('size', c_uint32), ('devices', c_uint32), ('vram_bytes', c_uint64),
                ('wait_ms', c_uint64), ('eta_ms', c_uint64), ('grace_ms', c_uint64),
                ('name', c_char_p)]


class berth_progress(Sized):
    _fields_ = [('size', c_uint32), ('reserved', c_uint32), ('done', c_uint64),
                ('total', c_uint64), ('left_ms', c_uint64), ('note', c_char_p),
                ('loss', POINTER(c_double)), ('phase', c_char_p)]


class berth_ask(Sized):
    _fields_ = [('size', c_uint32), ('action', c_uint32), ('number', c_uint64),
                ('within_ms', c_uint64), ('reason', c_char * 32)]


class berth_measurement(Sized):
    _fields_ = [('size', c_uint32), ('device', c_uint32), ('device_total', berth_figure),
                ('device_used', berth_figure), ('device_free', berth_figure),
                ('process_used', berth_figure), ('lease_used', berth_figure),
                ('lease_budget', berth_figure), ('provider_allocated', berth_figure),
                ('provider_reserved', berth_figure), ('host_used', berth_figure)]


class berth_room(Sized):
    _fields_ = [('size', c_uint32), ('answer', c_uint32), ('device_free', berth_figure),
                ('budget_left', berth_figure)]


class berth_vram_options(Sized):
    _fields_ = [('size', c_uint32), ('device', c_uint32), ('basis', c_uint32),
                ('cleanup_every', c_uint32), ('warn_bytes', c_uint64),
                ('cleanup_bytes', c_uint64), ('critical_bytes', c_uint64),
                ('warn_share', c_double), ('cleanup_share', c_double),
                ('critical_share', c_double), ('sample_every_ns', c_uint64),
                ('checkpoint_cool_down_ns', c_uint64)]


Told = CFUNCTYPE(c_int32, c_void_p, c_uint32, POINTER(c_uint64))
Do = CFUNCTYPE(c_int32, c_void_p, c_uint32)


class berth_provider(Sized):
    _fields_ = [('size', c_uint32), ('reserved', c_uint32), ('user', c_void_p),
                ('allocated', Told), ('reserved_bytes', Told), ('empty_cache', Do),
                ('synchronize', Do)]


class berth_event(Sized):
    _fields_ = [('size', c_uint32), ('kind', c_uint32), ('number', c_uint64), ('step', c_uint64),
                ('time_unix_ms', c_uint64), ('used_bytes', c_uint64), ('whole_bytes', c_uint64),
                ('bytes', c_uint64), ('copies', c_uint64), ('used_known', c_uint32),
                ('level', c_uint32), ('action', c_uint32), ('value', c_int32),
                ('name', c_char * 48), ('text', c_char * 160)]


Tell = CFUNCTYPE(None, c_void_p, POINTER(berth_event))


class berth_vram_callbacks(Sized):
    _fields_ = [('size', c_uint32), ('reserved', c_uint32), ('user', c_void_p), ('act', Do),
                ('event', Tell)]


class berth_vram_report(Sized):
    _fields_ = [('size', c_uint32), ('level', c_uint32), ('done', c_uint32), ('wanted', c_uint32),
                ('step', c_uint64), ('used_bytes', c_uint64), ('whole_bytes', c_uint64),
                ('freed_bytes', c_uint64), ('used_known', c_uint32), ('reserved', c_uint32)]


class berth_phase_mark(ctypes.Structure):
    _fields_ = [('name', c_char * 48), ('step', c_uint64), ('time_unix_ms', c_uint64),
                ('used', berth_figure), ('allocated', berth_figure), ('copies', c_uint64)]


class berth_vram_counts(Sized):
    _fields_ = [('size', c_uint32), ('level', c_uint32), ('steps', c_uint64),
                ('copies', c_uint64), ('copied_bytes', c_uint64), ('cleanups', c_uint64),
                ('freed_bytes', c_uint64), ('checkpoints', c_uint64), ('warn_bytes', c_uint64),
                ('cleanup_bytes', c_uint64), ('critical_bytes', c_uint64), ('leaks', c_uint32),
                ('leaks_host', c_uint32), ('growth_per_step', c_double),
                ('host_growth_per_step', c_double)]


class berth_batch_options(Sized):
    _fields_ = [('size', c_uint32), ('device', c_uint32), ('batch', c_uint64),
                ('micro_max', c_uint64), ('micro_min', c_uint64), ('grow_after', c_uint64),
                ('bytes_per_sample', c_uint64), ('fingerprint', c_char_p),
                ('directory', c_char_p)]


class berth_batch_plan(Sized):
    _fields_ = [('size', c_uint32), ('remembered', c_uint32), ('micro', c_uint64),
                ('accumulation', c_uint64), ('failures', c_uint64)]


Trial = CFUNCTYPE(c_int32, c_void_p, c_uint64)


class berth_batch_search(Sized):
    _fields_ = [('size', c_uint32), ('device', c_uint32), ('model_bytes', c_uint64),
                ('overhead_bytes', c_uint64), ('factor', c_double), ('margin', c_double),
                ('batch_max', c_uint64), ('user', c_void_p), ('trial', Trial)]


class berth_training(Sized):
    _fields_ = [('size', c_uint32), ('checkpointing', c_uint32), ('batch', c_uint64),
                ('sequence', c_uint64), ('room_bytes', c_uint64), ('precision', c_char_p),
                ('optimizer', c_char_p), ('attention', c_char_p)]


class berth_estimate(Sized):
    _fields_ = [('size', c_uint32), ('layers_known', c_uint32), ('parameters', c_uint64),
                ('weights_bytes', c_uint64), ('gradients_bytes', c_uint64),
                ('optimizer_bytes', c_uint64), ('activations_bytes', c_uint64),
                ('norms_bytes', c_uint64), ('attention_bytes', c_uint64),
                ('feed_forward_bytes', c_uint64), ('output_bytes', c_uint64),
                ('half_copies_bytes', c_uint64), ('peak_bytes', c_uint64),
                ('largest_batch', c_uint64)]


_session = _manager = _batch = c_uint64
# Those that return a berth_status, and what they take.
FUNCTIONS = {
    'berth_attach': [POINTER(berth_session_options), POINTER(_session)],
    'berth_detach': [_session],
    'berth_session_describe': [_session, POINTER(berth_session_facts)],
    'berth_device_describe': [_session, c_uint32, POINTER(berth_device_facts)],
    'berth_acquire': [POINTER(berth_session_options), POINTER(berth_request), POINTER(_session)],
    'berth_release': [_session],
    'berth_resize': [_session, c_uint64, c_uint64],
    'berth_renew': [_session, c_uint64],
    'berth_report_progress': [_session, POINTER(berth_progress)],
    'berth_session_next_ask': [_session, c_uint32, POINTER(berth_ask)],
    'berth_session_answer': [_session, POINTER(berth_ask), c_int32, c_char_p],
    'berth_session_serve': [_session, c_uint32, c_void_p, c_void_p],
    'berth_measure': [_session, c_uint32, c_uint64, POINTER(berth_measurement)],
    'berth_has_room': [_session, c_uint32, c_uint64, c_uint64, POINTER(berth_room)],
    'berth_vram_manager_create': [_session, POINTER(berth_vram_options), POINTER(_manager)],
    'berth_vram_manager_destroy': [_manager],
    'berth_vram_manager_set_provider': [_manager, POINTER(berth_provider)],
    'berth_vram_manager_set_callbacks': [_manager, POINTER(berth_vram_callbacks)],
    'berth_vram_manager_step': [_manager, POINTER(berth_vram_report)],
    'berth_vram_manager_answer': [_manager, c_uint32, c_int32],
    'berth_vram_manager_cleanup': [_manager, POINTER(c_uint64)],
    'berth_vram_manager_measure': [_manager, c_uint64, POINTER(berth_measurement)],
    'berth_vram_manager_count_copy': [_manager, c_uint64],
    'berth_vram_manager_phase': [_manager, c_char_p],
    'berth_vram_manager_phases': [_manager, POINTER(berth_phase_mark), c_size_t, c_uint32,
                                  POINTER(c_uint32)],
    'berth_vram_manager_counts': [_manager, POINTER(berth_vram_counts)],
    'berth_vram_manager_status_line': [_manager, c_char_p, c_size_t, POINTER(c_size_t)],
    'berth_vram_manager_next_event': [_manager, POINTER(berth_event)],
    'berth_batch_create': [_session, POINTER(berth_batch_options), POINTER(_batch)],
    'berth_batch_destroy': [_batch],
    'berth_batch_current': [_batch, POINTER(berth_batch_plan)],
    'berth_batch_out_of_memory': [_batch, POINTER(berth_batch_plan)],
    'berth_batch_step_done': [_batch, POINTER(berth_batch_plan)],
    'berth_find_batch_size': [_session, POINTER(berth_batch_search), POINTER(c_uint64)],
    'berth_estimate_training': [c_char_p, c_uint64, POINTER(berth_training),
                                POINTER(berth_estimate)],
}
