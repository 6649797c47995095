"""A run on one input as a folder of HTML pages: attention, gates and training, with Plotly's script once beside them.

The pages need no server and no network; each holds its figures' arrays and scrubs through the snapshots of training.
"""

from __future__ import annotations

import shutil
from html import escape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

from app.figures.gates import unit_over_tokens, units
from app.figures.html import PLOTLY, write_html
from app.figures.live import Live
from app.i18n import translate
from app.service.attention_figures import attention_figures, stack_views
from app.service.gates import collect_views
from app.service.inputs import ModelInput
from app.service.runs.loaded_run import LoadedRun
from app.service.runs.run_registry import entry_title
from app.service.snapshot_arrays import collect_arrays
from app.service.timeline_figure import run_timeline
from core.runs.run import Run

INDEX = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>body {{ font: 16px/1.6 system-ui, sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em; }}</style></head>
<body><h1>{title}</h1><p>{text}</p><ul>{links}</ul></body></html>
"""


def run_pages(loaded: LoadedRun, model_input: ModelInput) -> dict[str, list[Live]]:
    """Name of a page → its figures."""
    run, arrays = loaded.run, collect_arrays(loaded.run, model_input)
    playhead = [run_timeline(run, loaded.events, loaded.facts["accuracy"])] if isinstance(run, Run) else []
    pages: dict[str, list[Live]] = {}
    for stack, view in stack_views(arrays, "run").items():
        figures = attention_figures(view)
        wanted = [figures[name] for name in figures if name not in ("arcs", "sources")]
        pages[f"attention-{stack}"] = [*wanted, *playhead]
    if arrays.recurrent:
        for _, view in collect_views(run, model_input, "run"):
            pages[f"gates-{view.name}"] = [units(view), unit_over_tokens(view), *playhead]
    return pages


def write_site(folder: Path, loaded: LoadedRun, model_input: ModelInput) -> list[Path]:
    """Writes the pages, an index and Plotly's script; returns the pages."""
    title = translate(entry_title(loaded), "en")
    last = len(loaded.run.snapshots) - 1
    written = []
    for name, figures in run_pages(loaded, model_input).items():
        state = {"snapshot": last, "gate": "hidden", "sort": "index"}
        path = folder / f"{name}.html"
        write_html(path, *figures, title=f"{title}: {name}", plotlyjs="plotly.min.js", **state)
        written.append(path)
    shutil.copyfile(PLOTLY, folder / "plotly.min.js")
    links = "".join(f'<li><a href="{path.name}">{path.stem}</a></li>' for path in written)
    page = INDEX.format(title=escape(title), text=escape(model_input.text), links=links)
    (folder / "index.html").write_text(page, "utf-8")
    return written


def zipped_site(loaded: LoadedRun, model_input: ModelInput) -> bytes:
    packed = BytesIO()
    with TemporaryDirectory() as folder, ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        write_site(Path(folder), loaded, model_input)
        for path in sorted(Path(folder).iterdir()):
            archive.write(path, path.name)
    return packed.getvalue()
