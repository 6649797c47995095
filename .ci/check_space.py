"""Start the app the way a Space does and check its page: `make space`.

A Space installs Gradio in the README's version and requirements.txt into a clean environment, then runs the app file
from the root. Uses the standard library only, so that nothing of .venv leaks in.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".space"
START_SECONDS = 180
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def front_matter() -> dict[str, str]:
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    if not block:
        sys.exit("README.md does not begin with front matter.")
    return {key: value.strip('" ') for key, value in (line.split(": ", 1) for line in block[1].splitlines())}


def fetch(path: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:7860{path}", body, {"content-type": "application/json"})
    with OPENER.open(request, timeout=60) as response:
        return response.read()


def wait_until_ready(app: subprocess.Popen) -> float:
    start = time.monotonic()
    while time.monotonic() < start + START_SECONDS:
        if app.poll() is not None:
            sys.exit(f"The app ended with code {app.returncode}.")
        try:
            fetch("/")
            return time.monotonic() - start
        except OSError:
            time.sleep(0.5)
    sys.exit(f"The app did not answer within {START_SECONDS} s.")


def main() -> None:
    facts = front_matter()
    pinned = f"gradio=={facts['sdk_version']}"
    if facts["sdk"] != "gradio" or pinned not in (ROOT / "requirements.txt").read_text("utf-8").split():
        sys.exit(f"README.md asks for {facts['sdk']} {facts['sdk_version']}, requirements.txt for another.")
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    python = VENV / "bin/python"
    print("Installing as a Space does ...", flush=True)
    install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", pinned, "-r", "requirements.txt"]
    subprocess.run(install, check=True, cwd=ROOT)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    app = subprocess.Popen([python, facts["app_file"]], cwd=ROOT, env={**clean, "SPACE_ID": "somebody/innerview"})
    try:
        seconds = wait_until_ready(app)
        page = fetch("/").decode()
        runs = fetch("/api/runs").decode()
        arrays = fetch("/api/look", b'{"run": "induction-gpt", "text": "a b c a b c"}')
        assert "InnerView" in page and "ours/js/main.js" in page, "the page is not the app's"
        assert "induction-gpt" in runs and b'"blocks"' in arrays, "no run to look at"
        print(f"The Space answers after {seconds:.0f} s; its first picture is {len(arrays):,} bytes.")
    finally:
        app.terminate()
        app.wait(20)
        shutil.rmtree(VENV, ignore_errors=True)


if __name__ == "__main__":
    main()
