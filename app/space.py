"""Entry point of a Hugging Face Space: `python app/space.py` from the root serves all interfaces on port 7860."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # instead of app/, from which `app` cannot be imported
    sys.argv[1:] = ["--host", "0.0.0.0", "--port", "7860", "--no-open"]
    runpy.run_module("app.main", run_name="__main__")
