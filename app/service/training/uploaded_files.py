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
MAX_FILES = 8

_files: dict[str, Content] = {}  # the last few, by digest, so that a file need not be sent with every request


def task_from_file(file: Mapping[str, str], task_options: dict[str, Any]) -> CustomTask:
    """The custom task of a file; parsed once for the same options."""
    name, text = file.get("name", "own.txt"), file.get("text")
    if text is None:
        content = _files.get(file.get("digest", ""))
        if content is None:
            raise ConfigError(
                "file",
                name[-80:],
                Text("the file is not here any more."),
                Text("Choose it again."),
            )
        text, name = content.text, f"{name.rpartition('.')[0]}.{content.ending}"
    if len(text.encode()) > MAX_FILE_BYTES:
        size, most = len(text.encode()) / 1e6, MAX_FILE_BYTES // 1_000_000
        raise ConfigError(
            "file",
            name[-80:],
            Text(
                "it has {size:.1f} MB; at most {most} MB can be used here.",
                size=size,
                most=most,
            ),
            Text("Use a part of it."),
        )
    task = _parse_file(name, text, json.dumps(task_options, sort_keys=True))
    _files.pop(task.content.digest, None)
    _files[task.content.digest] = task.content
    for digest in list(_files)[:-MAX_FILES]:
        _files.pop(digest, None)
    return task


@lru_cache(maxsize=MAX_FILES)
def _parse_file(name: str, text: str, task_options: str) -> CustomTask:
    """Options come as JSON, which is hashable whatever they are; `custom_task` checks them."""
    return custom_task(name, text.encode(), **json.loads(task_options))
