"""Where the files beside the code are: `static/` of the repository, or `app/static/` of an installed package."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
STATIC = _HERE / "static" if (_HERE / "static").is_dir() else _HERE.parent / "static"
