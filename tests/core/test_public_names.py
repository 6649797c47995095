"""All names in the README exist after a bare `import core`, which imports no heavy packages."""

import json
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
SCRIPT = """
import json, sys
import core
heavy = [name for name in ("pandas", "transformers", "gradio", "plotly", "core.store", "core.jobs") if name in sys.modules]
missing = []
for name in json.loads(sys.argv[1]):
    value = core
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    if value is None:
        missing.append(name)
print(json.dumps([heavy, missing, [name for name in core.__all__ if not hasattr(core, name)]]))
"""


def test_the_readmes_names_are_there_and_nothing_heavy_is_imported():
    text = re.sub(r"^from core.*$", "", README.read_text("utf-8"), flags=re.M)
    named = sorted(set(re.findall(r"(?<![\w/.])core(?:\.[A-Za-z_]\w*)+", text)))
    assert "core.store.Store" in named and len(named) > 15
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(named)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[], [], []]
