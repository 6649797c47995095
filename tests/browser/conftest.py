import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from app.routes.errors import NOT_YET, REFUSED

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / ".browser/lib"  # what install_chromium.sh fetched for Playwright's driver
GUARD = Path(__file__).parent / "network_guard"  # is on the path of every app that the tests start
START_SECONDS = 120
expect.set_options(timeout=20_000)  # on a busy machine the page is slow; what it shows must be right all the same
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no other machine is there
]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test's cases (sizes, languages, runs), all but every fifth are left to `make test-all`."""
    cases: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")
            name = item.path, item.originalname
            if cases[name] % 5:
                item.add_marker("slow")
            cases[name] += 1


def _chromium() -> str:
    places = ("chromium-headless-shell", ROOT / ".browser/chromium", "chromium")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, places)), None)
    if not found:
        pytest.fail("There is no Chromium: run `make setup`, or set CHROMIUM to one.", pytrace=False)
    return found


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def _answers(url: str) -> bool:
    # Straight to the app, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError):
        return False


@contextmanager
def served(command: list[str], port: int, folder: Path) -> Iterator[str]:
    """The address of an app that runs as long as it is needed. It fails if the app dies or reaches beyond this machine."""
    url, log, reached = f"http://127.0.0.1:{port}", folder / "output.txt", folder / "reached.txt"
    search = os.pathsep.join([str(GUARD), *filter(None, [os.environ.get("PYTHONPATH")])])
    with log.open("wb") as out:
        app = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": search, "REACHED": str(reached)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(url):
            if app.poll() is not None:
                why = f"ended with code {app.returncode}"
            elif time.monotonic() > deadline:
                why = f"did not answer at {url} within {START_SECONDS} s"
            else:
                time.sleep(0.2)
                continue
            pytest.fail(f"The app {why}. Its output:\n{log.read_text(errors='replace')}", pytrace=False)
        yield url
        if app.poll() is not None:
            pytest.fail(
                f"The app died with code {app.returncode} during the tests. Its output:\n"
                f"{log.read_text(errors='replace')}",
                pytrace=False,
            )
        if reached.exists():
            pytest.fail(f"The app reached for other machines:\n{reached.read_text()}", pytrace=False)
    finally:
        _stop(app)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app that runs for the whole session."""
    port, folder = free_port(), tmp_path_factory.mktemp("app")
    folders = ["--store", str(folder / "runs"), "--checkpoints", str(folder / "checkpoints")]
    command = ["-m", "app.main", "--port", str(port), "--no-open", *folders]
    with served(command, port, folder) as url:
        yield url


def _stop(app: subprocess.Popen) -> None:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(app.pid, sig)
            app.wait(10)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            pass
        return


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch:
        if LIBRARIES.exists():
            patch.setenv("LD_LIBRARY_PATH", str(LIBRARIES), prepend=os.pathsep)
        playwright = sync_playwright().start()
    try:
        browser = playwright.chromium.launch(executable_path=_chromium(), headless=True, args=CHROMIUM_ARGS)
        yield browser
        browser.close()
    finally:
        playwright.stop()


@pytest.fixture(scope="session")
def troubles() -> list[str]:
    """What the open pages log as errors, throw, or ask for outside the app."""
    return []


@pytest.fixture(scope="session")
def kept_contexts() -> dict[str, BrowserContext]:
    """By app and options: a browser that has been here before has the scripts, and nothing else, of its last visit."""
    return {}


@pytest.fixture
def new_page(
    browser: Browser, app_url: str, kept_contexts: dict[str, BrowserContext], troubles: list[str]
) -> Iterator[Callable[..., Page]]:
    """Opens pages, each as of a person of its own, with the given options (viewport, locale, ...).

    The test fails if one of them logs an error, throws, or asks for anything outside the app.
    """
    troubles.clear()
    used: list[BrowserContext] = []

    def open_page(**options) -> Page:
        name = repr((app_url, sorted(options.items())))
        context = kept_contexts.get(name)
        if context is None:
            context = kept_contexts[name] = watched(browser, app_url, troubles, options)
        elif context in used:
            context = watched(browser, app_url, troubles, options)
        used.append(context)
        return context.new_page()

    yield open_page
    for context in used:
        if context in kept_contexts.values():
            for page in context.pages:
                page.evaluate("localStorage.clear(); sessionStorage.clear()")
                page.close()
            context.clear_cookies()
        else:
            context.close()
    if troubles:
        pytest.fail("\n".join(dict.fromkeys(troubles)), pytrace=False)


def logged(message: ConsoleMessage) -> bool:
    """An error of the page; that a request was refused, browsers log by themselves, and the page has told why."""
    refused = any(f"responded with a status of {status}" in message.text for status in (REFUSED, NOT_YET))
    return message.type == "error" and not refused


def watched(browser: Browser, app_url: str, troubles: list[str], options: dict) -> BrowserContext:
    """A browser of somebody's own, whose troubles are noted."""
    local = (f"{app_url}/", f"{app_url.replace('http', 'ws', 1)}/", "data:", "blob:", "about:")

    def own(url: str) -> bool:
        return url.startswith(local)

    # Requests made by a service worker would not be told of.
    context = browser.new_context(**{"base_url": app_url, "service_workers": "block", **options})
    context.on("request", lambda one: own(one.url) or troubles.append(f"request outside the app: {one.url}"))
    context.on("weberror", lambda error: troubles.append(f"page error: {error.error}"))
    context.on("console", lambda one: logged(one) and troubles.append(f"console error: {one.text}"))
    context.on(
        "page",
        lambda page: page.on(
            "websocket", lambda ws: own(ws.url) or troubles.append(f"connection outside the app: {ws.url}")
        ),
    )
    return context


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()
