"""A file is replaced whole or not at all, and temporary files of dead writers are told from those of living ones."""

import os
import subprocess
import sys

import pytest

from core.runs.atomic_files import atomic_replacement, is_stale, part_path, write_atomically
from core.runs.store import Store


@pytest.mark.parametrize("content", ["text", b"bytes"])
def test_the_content_is_replaced(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_text("old")
    write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path):
    path = tmp_path / "file.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_replacement(path) as part:
        part.write_text("half")
        assert not is_stale(part)
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_only_files_of_dead_writers_are_removed(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    store = Store(tmp_path)
    own = part_path(tmp_path / "a.json", "label")
    left = tmp_path / own.name.replace(str(os.getpid()), str(dead.pid))
    for path in (own, left):
        path.write_text("half")
    store.remove_stale_files()
    assert own.exists() and not left.exists()
