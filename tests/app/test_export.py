"""A run as a site of pages: complete, without addresses outside, small beside Plotly's own script."""

from __future__ import annotations

import io
import zipfile

import pytest

from app.export.run_site import write_site
from app.service.inputs import held_out_input
from app.service.runs import run_registry, shipped

MOST_BYTES = 3_000_000  # of a whole run, beside Plotly


@pytest.mark.parametrize("name", shipped.names())
def test_a_whole_run_is_small_and_needs_no_network(name, tmp_path):
    loaded = run_registry.open_run(name)
    pages = write_site(tmp_path, loaded, held_out_input(loaded.run, 0))
    size = sum(path.stat().st_size for path in tmp_path.iterdir() if path.name != "plotly.min.js")
    assert pages and size <= MOST_BYTES, size
    for path in pages:
        text = path.read_text("utf-8")
        assert 'src="plotly.min.js"' in text and "https://" not in text.split('<script type="module">')[0]
        assert path.name in (tmp_path / "index.html").read_text("utf-8")


def test_the_page_gets_it_as_a_zip(client):
    answer = client.post("/api/site", json={"run": "parity-lstm", "text": "3 2 3"})
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert {"index.html", "plotly.min.js", "gates-layers.0.fwd.html"} <= set(archive.namelist())
    wrong = client.post("/api/site", json={"run": "nobody", "text": "3"})
    assert wrong.status_code == 422 and wrong.json()["problem"]["zh"]
