"""Live figures as a file: one HTML page with figures, arrays, the player and Plotly in it, that scrubs from disk.

Every key of the state that chooses slices gets a slider. Arrays are stored once, as the page's route sends them, compressed,
in base64.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import plotly

from app import payload
from app.figures.live import Live, untranslated
from app.figures.theme import TEMPLATES
from app.paths import STATIC

PLOTLY = Path(plotly.__file__).parent / "package_data/plotly.min.js"
IMPORT = re.compile(r'^import (\{.*?\}) from "([./\w]+\.js)";$', re.M)
PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{css}</style>{plotly}</head>
<body class="{theme}"><main id="figures"></main><footer id="controls"></footer>
<script type="application/json" id="page">{page}</script>
<script type="module">{script}</script></body></html>
"""
CSS = """
:root { --iv-ink: #1b2130; --iv-mute: #5d6577; --iv-accent: #0b7a75; --iv-paper: #faf9f6; --iv-line: #e4e2dc; }
.dark { --iv-ink: #e8ebf2; --iv-mute: #a3abbd; --iv-accent: #4fc3b8; --iv-paper: #0f131c; --iv-line: #2a3142; }
body { margin: 0; background: var(--iv-paper); color: var(--iv-ink); font: 15px/1.45 system-ui, sans-serif; }
#figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 24px; padding: 20px; }
#controls { position: sticky; bottom: 0; display: flex; gap: 24px; padding: 10px 20px; background: var(--iv-paper); border-top: 1px solid var(--iv-line); }
#controls label { display: flex; gap: 8px; align-items: center; flex: 1; }
#controls input { flex: 1; accent-color: var(--iv-accent); }
"""
PLAY = """
const page = JSON.parse(document.getElementById("page").textContent);
const bytes = Uint8Array.from(atob(page.arrays), (c) => c.charCodeAt(0));
const { arrays } = unpack(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()), Plotly = window.Plotly;
const state = page.state, sliders = {};
const player = new Player({ state, templates: page.templates, plotly: async () => Plotly, set });
function set(changes) {
  Object.assign(state, changes);
  for (const key of Object.keys(changes)) if (sliders[key]) sliders[key].value = state[key];
  player.moved(Object.keys(changes));
}
for (const spec of page.figures) {
  const box = document.createElement("figure");
  box.className = "live";
  box.innerHTML = '<h3 class="title"></h3><div class="plot"></div><p class="caption"></p>';
  document.getElementById("figures").append(box);
  player.add(box, spec, arrays);
}
for (const [key, count] of Object.entries(page.keys)) {
  if (count < 2) continue;
  const label = document.createElement("label"), slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: count - 1, value: state[key] });
  slider.addEventListener("input", () => set({ [key]: Number(slider.value) }));
  label.append(key, slider);
  sliders[key] = slider;
  document.getElementById("controls").append(label);
}
window.innerview = { state, set, player };
"""


def write_html(
    path: str | Path, *figures: Live, title: str = "InnerView", plotlyjs: str | bool = True, **state: Any
) -> None:
    """One page with these figures, which share their state. plotlyjs: True to hold Plotly's script in the file itself, or
    the address of a script, as for a site of several pages.
    """
    keys = {key: count for figure in figures for key, count in figure.keys().items()}
    given = {key: value for figure in figures for key, value in figure.state.items()}
    first = dict.fromkeys(["query", "key", *keys], 0)
    whole: dict[str, Any] = {**first, "theme": "light", "language": "en", **given, **state}
    arrays = {name: array for figure in figures for name, array in figure.arrays().items()}
    units = {name: array.unit for name, array in arrays.items() if array.unit != 1}
    packed = payload.pack({}, {name: array.values for name, array in arrays.items()}, units)
    page = {
        "figures": [figure.spec(untranslated) for figure in figures],
        "templates": TEMPLATES,
        "keys": keys,
        "state": whole,
        "arrays": base64.b64encode(gzip.compress(packed, 6, mtime=0)).decode(),
    }
    text = json.dumps(page, ensure_ascii=False, default=_plain).replace("<", "\\u003c")
    Path(path).write_text(page_html(text, title, whole["theme"], whole["language"], plotlyjs), "utf-8")


def page_html(page: str, title: str, theme: str, language: str, plotlyjs: str | bool = True) -> str:
    """The page around the JSON of its figures."""
    library = PLOTLY.read_text("utf-8") if plotlyjs is True else ""
    filled = {
        "title": escape(title),
        "css": CSS + (STATIC / "css/live.css").read_text("utf-8"),
        "plotly": f"<script>{library}</script>" if library else f'<script src="{escape(str(plotlyjs))}"></script>',
        "page": page,
        "script": inlined() + PLAY,
        "language": language,
        "theme": theme,
    }
    return re.sub(r"\{(\w+)\}", lambda field: filled[field[1]], PAGE)


def inlined() -> str:
    """The player and the modules it imports as one script: each a function of its own that returns what it exports."""
    modules: dict[Path, str] = {}
    for name in ("payload.js", "live/player.js"):
        _add_module((STATIC / "js" / name).resolve(), modules)
    return "\n".join(modules.values()) + "\nconst { unpack } = payload_js, { Player } = player_js;\n"


def _add_module(path: Path, modules: dict[Path, str]) -> None:
    """Adds a module behind those it imports."""
    if path in modules:
        return
    source = path.read_text("utf-8")
    for imported in IMPORT.findall(source):
        _add_module((path.parent / imported[1]).resolve(), modules)
    source = IMPORT.sub(lambda found: f"const {found[1]} = {Path(found[2]).stem}_js;", source)
    exported = re.findall(r"^export (?:async )?(?:const|class|function) (\w+)", source, flags=re.M)
    body = re.sub(r"^export ", "", source, flags=re.M)
    modules[path] = f"const {path.stem}_js = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"{type(value).__name__} is not JSON")
    return value.tolist()
