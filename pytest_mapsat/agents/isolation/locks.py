"""Which processes may look into which, on Linux: pytest's own lets nobody in, an agent's gives up what would let it in anyway."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LINUX = sys.platform.startswith("linux")
_GET_DUMPABLE, _SET_DUMPABLE = 3, 4
_SET_NO_NEW_PRIVS = 38
_CLEAR_AMBIENT = 47, 4
#: What root keeps in an agent's process (bits of linux/capability.h): chown, dac_override, fowner, fsetid, kill, setgid, setuid and
#: net_bind_service, so that files, ports and users are its own as ever. Without sys_ptrace, sys_admin and perfmon it reads no other process.
_KEPT = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 10))
_CAPABILITIES_VERSION = 0x20080522
#: Landlock: its system calls, whose numbers are those of every machine; the right to move a file to another folder, which is given back for
#: every file, because some right has to be ruled; the kind of rule that is about what lies below a folder.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_REFER = 1 << 13
_PATH_BENEATH = 1
_ASK_VERSION = 1
#: The first version that knows the right to move files; one before it would take it from all processes.
_LEAST_VERSION = 2


def prctl(option: int, value: int) -> int:
    """Set or ask an option of this process that only Linux has; 0 elsewhere, -1 where the system refuses."""
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0)) if _LINUX else 0


@contextmanager
def unreadable() -> Iterator[None]:
    """Let no process of the same user read this one's environment, memory and descriptors meanwhile, unless it has root's right to."""
    before = prctl(_GET_DUMPABLE, 0)
    prctl(_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        if before == 1:  # the only other value than 0 that can be set
            prctl(_SET_DUMPABLE, 1)


def give_up_rights() -> None:
    """Keep none of root's rights but those over files, ports and users, in this process and all that it starts; ``sudo`` gives none back."""
    if not _LINUX:
        return
    prctl(_SET_NO_NEW_PRIVS, 1)
    ctypes.CDLL(None).prctl(*_CLEAR_AMBIENT, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITIES_VERSION, 0)
    rights = ctypes.create_string_buffer(
        24
    )  # effective, permitted and inheritable: the lower halves, then the upper ones
    libc = ctypes.CDLL(None)
    if libc.capget(header, rights) == 0:
        low = [half & _KEPT for half in struct.unpack_from("2I", rights)]
        libc.capset(header, struct.pack("6I", *low, 0, 0, 0, 0))


def see_no_others() -> None:
    """Keep this process, and all that it starts, from reading and tracing any other, where the kernel has Landlock; it cannot be undone."""
    if not _LINUX:
        return
    libc = ctypes.CDLL(None)
    if libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) < _LEAST_VERSION:
        return
    ruleset = libc.syscall(_CREATE_RULESET, struct.pack("Q", _REFER), 8, 0)
    if ruleset < 0:
        return
    everywhere = os.open("/", os.O_PATH)
    try:
        rule = struct.pack("=Qi", _REFER, everywhere)
        if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) == 0:
            libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(everywhere)
        os.close(ruleset)
