"""The server offers no API documentation page and takes no uploads through Gradio."""

import pytest
from fastapi.testclient import TestClient

from app.main import make_app


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app())


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_no_page_of_its_routes_that_would_need_a_network(client, path):
    assert client.get(path).status_code == 404


def test_gradio_keeps_no_files(client):
    answer = client.post("/gradio_api/upload", files={"files": ("page.html", b"<script>", "text/html")})
    assert answer.status_code == 413
