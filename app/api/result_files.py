"""Files that endpoints return: in one temporary folder, each under a name that cannot be guessed, for a limited time."""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import gradio as gr
import numpy as np
from safetensors.numpy import save_file

MAX_BYTES, MAX_SECONDS = 1_000_000_000, 3600.0  # of all files together; until a file is removed


class ResultFiles:
    """Files are served from where they are; Gradio would otherwise serve copies, which are never removed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @cached_property
    def folder(self) -> Path:
        folder = Path(mkdtemp(prefix="innerview-files-")).resolve()
        gr.set_static_paths([folder])
        return folder

    def save(self, name: str, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> gr.FileData:
        """Arrays as a safetensors file, with facts about them as JSON in its metadata."""
        metadata = {key: json.dumps(value) for key, value in facts.items()}
        with self._lock:
            self._remove_old(sum(array.nbytes for array in arrays.values()))
            directory = self.folder / secrets.token_hex(16)
            directory.mkdir()
            path = directory / f"{name}.safetensors"
            save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, path, metadata)
        return gr.FileData(path=str(path), orig_name=path.name, size=path.stat().st_size)

    def _remove_old(self, size: int) -> None:
        """Make room for a file of a size: those kept too long go, and the oldest while there is too little room."""
        files = sorted(self.folder.glob("*/*"), key=lambda path: path.stat().st_mtime)
        total = size + sum(path.stat().st_size for path in files)
        for path in files:
            if total <= MAX_BYTES and time.time() - path.stat().st_mtime < MAX_SECONDS:
                break
            total -= path.stat().st_size
            shutil.rmtree(path.parent)

    def close(self) -> None:
        if "folder" in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)
            del self.folder


result_files = ResultFiles()
