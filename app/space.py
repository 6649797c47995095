"""What a Hugging Face Space runs, as `python app/space.py` from the root: all interfaces, port 7860."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # instead of app/, from where `app` is not to be found
    sys.argv[1:] = ["--host", "0.0.0.0", "--port", "7860", "--no-open"]
    runpy.run_module("app.main", run_name="__main__")
