"""Start the app the way a Space does and look at its page: `make space`.

A Space installs Gradio in the README's version and requirements.txt into a clean environment, then runs the app file
from the root. Everything here is the standard library's, so that nothing of .venv leaks in.
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
SECONDS = 180
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def front_matter() -> dict[str, str]:
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    if not block:
        sys.exit("README.md does not begin with front matter.")
    return {key: value.strip('" ') for key, value in (line.split(": ", 1) for line in block[1].splitlines())}


def ask(path: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:7860{path}", body, {"content-type": "application/json"})
    with OPENER.open(request, timeout=60) as answer:
        return answer.read()


def wait(app: subprocess.Popen) -> float:
    began = time.monotonic()
    while time.monotonic() < began + SECONDS:
        if app.poll() is not None:
            sys.exit(f"The app ended with code {app.returncode}.")
        try:
            ask("/")
            return time.monotonic() - began
        except OSError:
            time.sleep(0.5)
    sys.exit(f"The app did not answer within {SECONDS} s.")


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
        seconds = wait(app)
        page = ask("/").decode()
        runs = ask("/api/runs").decode()
        look = ask("/api/look", b'{"run": "induction-gpt", "text": "a b c a b c"}')
        assert "InnerView" in page and "ours/js/main.js" in page, "the page is not ours"
        assert "induction-gpt" in runs and b'"blocks"' in look, "nothing to look at"
        print(f"The Space answers after {seconds:.0f} s; its first picture is {len(look):,} bytes.")
    finally:
        app.terminate()
        app.wait(20)
        shutil.rmtree(VENV, ignore_errors=True)


if __name__ == "__main__":
    main()
