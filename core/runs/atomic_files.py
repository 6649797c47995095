"""Atomic replacement of files: written under a temporary name in the same folder, then renamed (POSIX `rename`).

A reader sees the old content or the new one, never half. Temporary names are `<file>.<label>.<pid>.part`: what a killed
process leaves behind is recognised by its pid (`is_stale`), and removed by `Store.remove_stale_files`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"


def part_path(path: Path, label: object) -> Path:
    """A temporary name beside `path` that belongs to this process."""
    return path.with_name(f"{path.name}.{label}.{os.getpid()}{PART}")


@contextmanager
def atomic_replacement(path: Path, sync: bool = True) -> Iterator[Path]:
    """`with atomic_replacement(path) as part:` write to `part`; it replaces `path` unless an exception is raised.

    sync  flush the content to the disk first (fsync), so that it also survives a power cut
    """
    part = part_path(path, threading.get_native_id())
    try:
        yield part
        if sync:
            with part.open("rb") as file:
                os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes | str, sync: bool = True) -> None:
    with atomic_replacement(path, sync) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def is_stale(part: Path) -> bool:
    """Is the process that wrote this temporary file gone?"""
    pid = part.name.split(".")[-2]
    return not (pid.isdigit() and process_exists(int(pid)))


def process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True
