"""Configure the C library's allocator (glibc `mallopt`) to keep freed memory in the process.

A capture of BERT-Base allocates about a hundred megabytes and frees them again. By default glibc returns them to the
system each time, and the page faults of the next capture cost more than computing attention explicitly. `core.capture`
calls this once per process; it changes how soon freed memory is returned and nothing else.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from malloc.h
KEPT_BYTES = 1 << 30
LARGEST_REUSED_BYTES = 1 << 25  # the C library's own upper limit


@cache
def keep_freed_memory() -> bool:
    """Keep up to 1 GiB of freed memory for the next capture; False where the C library is not glibc."""
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    return bool(
        library.mallopt(M_MMAP_THRESHOLD, LARGEST_REUSED_BYTES) and library.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    )
