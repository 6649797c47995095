"""Make the process keep the memory it frees.

A capture of BERT-Base allocates about a hundred megabytes and frees them again. By default the C library hands them
back to the system each time, and fetching them anew, page by page, costs more than writing attention out as a formula
does. `core.capture` asks for this once per process; it changes how soon freed memory is returned and nothing else.
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
    """Keep up to 1 GiB of freed memory for the next capture; True where the C library can do it (glibc)."""
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    return bool(
        library.mallopt(M_MMAP_THRESHOLD, LARGEST_REUSED_BYTES) and library.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    )
