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
LIBRARIES = ROOT / ".browser/lib"  # fetched by install_chromium.sh for Playwright's driver
GUARD = Path(__file__).parent / "network_guard"  # on PYTHONPATH of every app that the tests start
START_SECONDS = 120
expect.set_options(timeout=20_000)  # the page is slow on a busy machine
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no other host resolves
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
    names = ("chromium-headless-shell", ROOT / ".browser/chromium", "chromium")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not path:
        pytest.fail("There is no Chromium: run `make setup`, or set CHROMIUM to one.", pytrace=False)
    return path


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def _responds(url: str) -> bool:
    # Without the proxy that the environment may name.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError):
        return False


@contextmanager
def serve_app(command: list[str], port: int, folder: Path) -> Iterator[str]:
    """Runs an app and yields its address; fails if the app dies or connects to another machine."""
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
        while not _responds(url):
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
            pytest.fail(f"The app connected to other machines:\n{reached.read_text()}", pytrace=False)
    finally:
        _stop(app)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app that runs for the whole session."""
    port, folder = free_port(), tmp_path_factory.mktemp("app")
    folders = ["--store", str(folder / "runs"), "--checkpoints", str(folder / "checkpoints")]
    command = ["-m", "app.main", "--port", str(port), "--no-open", *folders]
    with serve_app(command, port, folder) as url:
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
def page_errors() -> list[str]:
    """Console errors, exceptions and requests outside the app, of all open pages."""
    return []


@pytest.fixture(scope="session")
def cached_contexts() -> dict[str, BrowserContext]:
    """By app and options: contexts whose HTTP cache has the scripts; storage is cleared after each test."""
    return {}


@pytest.fixture
def new_page(
    browser: Browser, app_url: str, cached_contexts: dict[str, BrowserContext], page_errors: list[str]
) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a browser context of its own, with the given options (viewport, locale, ...).

    The test fails if one of them logs an error, throws, or requests anything outside the app.
    """
    page_errors.clear()
    used: list[BrowserContext] = []

    def open_page(**options) -> Page:
        name = repr((app_url, sorted(options.items())))
        context = cached_contexts.get(name)
        if context is None:
            context = cached_contexts[name] = monitored_context(browser, app_url, page_errors, options)
        elif context in used:
            context = monitored_context(browser, app_url, page_errors, options)
        used.append(context)
        return context.new_page()

    yield open_page
    for context in used:
        if context in cached_contexts.values():
            for page in context.pages:
                page.evaluate("localStorage.clear(); sessionStorage.clear()")
                page.close()
            context.clear_cookies()
        else:
            context.close()
    if page_errors:
        pytest.fail("\n".join(dict.fromkeys(page_errors)), pytrace=False)


def is_error(message: ConsoleMessage) -> bool:
    """Is it an error of the page? Refused requests, which the browser logs and the page explains, are not."""
    refused = any(f"responded with a status of {status}" in message.text for status in (REFUSED, NOT_YET))
    return message.type == "error" and not refused


def monitored_context(browser: Browser, app_url: str, page_errors: list[str], options: dict) -> BrowserContext:
    """A new browser context that appends its errors to `page_errors`."""
    local = (f"{app_url}/", f"{app_url.replace('http', 'ws', 1)}/", "data:", "blob:", "about:")

    def is_local(url: str) -> bool:
        return url.startswith(local)

    # Requests of a service worker raise no event.
    context = browser.new_context(**{"base_url": app_url, "service_workers": "block", **options})
    context.on(
        "request",
        lambda request: is_local(request.url) or page_errors.append(f"request outside the app: {request.url}"),
    )
    context.on("weberror", lambda error: page_errors.append(f"page error: {error.error}"))
    context.on(
        "console",
        lambda message: (
            is_error(message) and page_errors.append(f"console error: {message.text} ({message.location['url']})")
        ),
    )
    context.on(
        "page",
        lambda page: page.on(
            "websocket", lambda ws: is_local(ws.url) or page_errors.append(f"connection outside the app: {ws.url}")
        ),
    )
    return context


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()
