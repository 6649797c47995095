"""Uploaded files of the Train tab: size limits and a cache of the last ones; `core.tasks.custom` makes the task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from core import ConfigError, Text
from core.tasks.custom.custom_task import CustomTask, custom_task
from core.tasks.custom.files import Content

MAX_FILE_BYTES = 5_000_000
MAX_UPLOAD_BYTES = 20 * MAX_FILE_BYTES  # more is refused by Gradio in its own words; up to this, by a sentence here
MAX_FILES = 8

_files: dict[str, Content] = {}  # the last few, by digest, so that a file need not be sent with every request


def task_from_bytes(name: str, data: bytes) -> CustomTask:
    """The custom task of a file that has just been uploaded."""
    return _read(name, data, {})


def task_from_file(file: Mapping[str, str], task_options: dict[str, Any]) -> CustomTask:
    """The custom task of a file, given by its name and its text, or by the digest of one given before."""
    name, text = file.get("name", "own.txt"), file.get("text")
    if text is not None:
        return _read(name, text.encode(), task_options)
    content = _files.get(file.get("digest", ""))
    if content is None:
        raise ConfigError("file", name[-80:], Text("the file is not here any more."), Text("Choose it again."))
    return _read(f"{name.rpartition('.')[0]}.{content.ending}", content.text.encode(), task_options)


def _read(name: str, data: bytes, task_options: dict[str, Any]) -> CustomTask:
    if len(data) > MAX_FILE_BYTES:
        size, most = len(data) / 1e6, MAX_FILE_BYTES // 1_000_000
        raise ConfigError(
            "file",
            name[-80:],
            Text("it has {size:.1f} MB; at most {most} MB can be used here.", size=size, most=most),
            Text("Use a part of it."),
        )
    task = _parse_file(name, data, json.dumps(task_options, sort_keys=True))
    _files.pop(task.content.digest, None)
    _files[task.content.digest] = task.content
    for digest in list(_files)[:-MAX_FILES]:
        _files.pop(digest, None)
    return task


@lru_cache(maxsize=MAX_FILES)
def _parse_file(name: str, data: bytes, task_options: str) -> CustomTask:
    """Options come as JSON, which is hashable whatever they are; `custom_task` checks them."""
    return custom_task(name, data, **json.loads(task_options))
