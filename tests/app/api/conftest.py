from collections.abc import Iterator

import pytest
from gradio_client import Client

from app.service.runs import shipped
from tests.app.api.calls import CHECKPOINT, GPT, LSTM
from tests.app.checkpoints import small_checkpoints
from tests.browser.conftest import free_port, serve_app


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory):
    """Of the app's runs and checkpoints."""
    folder = tmp_path_factory.mktemp("api")
    small_checkpoints.gpt2(folder / "checkpoints" / CHECKPOINT.removeprefix("checkpoint:"))
    return folder


@pytest.fixture(scope="session")
def app_url(folder) -> Iterator[str]:
    port = free_port()
    folders = ["--store", str(folder / "runs"), "--checkpoints", str(folder / "checkpoints")]
    with serve_app(["-m", "app.main", "--port", str(port), "--no-open", "--mcp", *folders], port, folder) as url:
        yield url


@pytest.fixture(scope="session")
def client(app_url, tmp_path_factory) -> Client:
    return Client(app_url, verbose=False, download_files=tmp_path_factory.mktemp("downloads"))


@pytest.fixture(scope="session")
def gpt():
    return shipped.load(GPT).run


@pytest.fixture(scope="session")
def lstm():
    return shipped.load(LSTM).run
