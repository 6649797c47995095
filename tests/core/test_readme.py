"""The README's Python runs as it stands, from top to bottom; only what needs a Ray cluster is left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDS_A_CLUSTER = "ray="


def snippets() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), flags=re.M | re.S)


def test_all_python_runs_in_order(tmp_path):
    lines = "".join(snippets()).splitlines(keepends=True)
    runnable = [line for line in lines if NEEDS_A_CLUSTER not in line]
    assert len(snippets()) == 6 and len(lines) - len(runnable) == 1
    script = tmp_path / "readme.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{''.join(runnable)}", "utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 ") and "\n400 " in done.stdout, "every step is printed"
    assert (tmp_path / "folder/config.json").is_file()
