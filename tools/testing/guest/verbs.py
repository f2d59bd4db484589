# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A little of libibverbs: a context, its asynchronous events, and verbs that need no queue."""
import ctypes
import os
import select

from report import Failure, check

DEVICE_FATAL, PORT_ACTIVE, PORT_ERR = 8, 9, 10

_lib = ctypes.CDLL("libibverbs.so.1", use_errno=True)
_P = ctypes.c_void_p
_lib.ibv_get_device_list.restype = ctypes.POINTER(_P)
_lib.ibv_get_device_list.argtypes = [ctypes.POINTER(ctypes.c_int)]
_lib.ibv_free_device_list.argtypes = [ctypes.POINTER(_P)]
_lib.ibv_get_device_name.restype = ctypes.c_char_p
_lib.ibv_get_device_name.argtypes = [_P]
_lib.ibv_open_device.restype = _P
_lib.ibv_open_device.argtypes = [_P]
_lib.ibv_close_device.argtypes = [_P]
_lib.ibv_alloc_pd.restype = _P
_lib.ibv_alloc_pd.argtypes = [_P]
_lib.ibv_dealloc_pd.argtypes = [_P]
_lib.ibv_create_cq.restype = _P
_lib.ibv_create_cq.argtypes = [_P, ctypes.c_int, _P, _P, ctypes.c_int]
_lib.ibv_destroy_cq.argtypes = [_P]
_lib.ibv_reg_mr.restype = _P
_lib.ibv_reg_mr.argtypes = [_P, _P, ctypes.c_size_t, ctypes.c_int]
_lib.ibv_dereg_mr.argtypes = [_P]


class _Head(ctypes.Structure):
    """The public beginning of struct ibv_context."""
    _fields_ = [("device", _P), ("ops", _P * 32), ("cmd_fd", ctypes.c_int), ("async_fd", ctypes.c_int)]


class AsyncEvent(ctypes.Structure):
    _fields_ = [("element", ctypes.c_uint64), ("event_type", ctypes.c_int)]


_lib.ibv_get_async_event.argtypes = [_P, ctypes.POINTER(AsyncEvent)]
_lib.ibv_ack_async_event.argtypes = [ctypes.POINTER(AsyncEvent)]


def _find(devices, count, name):
    for i in range(count):
        if _lib.ibv_get_device_name(devices[i]).decode() == name:
            return devices[i]
    raise Failure(f"libibverbs knows no {name}")


class Context:
    """An open device with a PD, a CQ and an MR."""

    def __init__(self, name="ohca0"):
        count = ctypes.c_int()
        devices = _lib.ibv_get_device_list(ctypes.byref(count))
        try:
            self._context = _lib.ibv_open_device(_find(devices, count.value, name))
        finally:
            _lib.ibv_free_device_list(devices)
        check(self._context, f"ibv_open_device({name}): {os.strerror(ctypes.get_errno())}")
        self._memory = ctypes.create_string_buffer(65536)
        self._pd = self._made("ibv_alloc_pd", _lib.ibv_alloc_pd(self._context))
        self._cq = self._made("ibv_create_cq", self._create_cq())
        self._mr = self._made("ibv_reg_mr", self._reg_mr())

    @staticmethod
    def _made(what, pointer):
        check(pointer, f"{what}: {os.strerror(ctypes.get_errno())}")
        return pointer

    def _create_cq(self):
        return _lib.ibv_create_cq(self._context, 16, None, None, 0)

    def _reg_mr(self):
        return _lib.ibv_reg_mr(self._pd, ctypes.addressof(self._memory), len(self._memory), 1)

    def refused(self):
        """The errno of each verb that creates something; 0 if it succeeds."""
        found = {}
        for name, verb in (("ibv_alloc_pd", lambda: _lib.ibv_alloc_pd(self._context)),
                           ("ibv_create_cq", self._create_cq), ("ibv_reg_mr", self._reg_mr)):
            found[name] = 0 if verb() else ctypes.get_errno()
        return found

    def wait_event(self, deadline):
        """The type of the next asynchronous event."""
        descriptor = ctypes.cast(self._context, ctypes.POINTER(_Head)).contents.async_fd
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        check(poller.poll(deadline * 1000), f"waited {deadline:g} s for an asynchronous event")
        event = AsyncEvent()
        check(_lib.ibv_get_async_event(self._context, ctypes.byref(event)) == 0,
              f"ibv_get_async_event: {os.strerror(ctypes.get_errno())}")
        _lib.ibv_ack_async_event(ctypes.byref(event))
        return event.event_type

    def close(self):
        """Everything can be given back, whatever has become of the device."""
        for what, status in (("ibv_dereg_mr", _lib.ibv_dereg_mr(self._mr)),
                             ("ibv_destroy_cq", _lib.ibv_destroy_cq(self._cq)),
                             ("ibv_dealloc_pd", _lib.ibv_dealloc_pd(self._pd)),
                             ("ibv_close_device", _lib.ibv_close_device(self._context))):
            check(status == 0, f"{what}: status {status}")
