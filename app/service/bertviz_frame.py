"""BertViz's own views (Vig 2019, arxiv.org/abs/1906.05714) of our tensors, as pages for a sandboxed frame.

A page holds BertViz's script as it is installed, d3 and jQuery, and no data: tensors and tokens arrive by `postMessage`,
and only a height, a pressed key or an SVG goes back. So no token is ever part of a script or of markup, and the page's
Content-Security-Policy forbids every connection.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

from app.i18n import WORDS

VIEWS = ("head", "model", "neuron")
MAX_NUMBERS = 400_000  # in the neuron view's queries and keys
MAX_LINES = 60_000  # BertViz draws about 23,000 a second
MAX_SENT = 5 * MAX_LINES  # weights handed over, of which the head view draws one layer

WIDTH, BACKGROUND, HIGHLIGHT = (
    f"window.bertviz_params.{name}" for name in ("room", "colours.ground", "colours.soft")
)

# Replacements in BertViz's scripts: labels in the reader's language, width and colours of the page, the neuron view
# opened with its vectors, and a limit on the lines of thumbnails (7 px for 12 heads would be 84 px for one).
REPLACEMENTS = {
    "head": {"MATRIX_WIDTH = 115;": f"MATRIX_WIDTH = Math.min(1100, {WIDTH} - 2 * BOXWIDTH);"},
    "model": {
        "DIV_WIDTH = 970;": f"DIV_WIDTH = {WIDTH};",
        "= 7 * (12 / config.totalHeads);": "= Math.min(14, 7 * (12 / config.totalHeads));",
        "'background': 'white'": f"'background': {BACKGROUND}",
        "'background': 'black'": f"'background': {BACKGROUND}",
        "'highlight': '#F5F5F5'": f"'highlight': {HIGHLIGHT}",
        "'highlight': '#222'": f"'highlight': {HIGHLIGHT}",
        '.text("Heads")': ".text(words.heads)",
        '.text("Layers")': ".text(words.layers)",
        """.text('Layer ' + config.layers[layerIndex] + ", Head " + config.heads[headIndex])""": (
            ".text(words.head + ' ' + config.layers[layerIndex] + '.' + config.heads[headIndex])"
        ),
    },
    "neuron": {
        "MATRIX_WIDTH = 200;": f"MATRIX_WIDTH = Math.max(200, Math.min(360, ({WIDTH} - 460) / 3));",
        "'background': 'white'": f"'background': {BACKGROUND}",
        "'background': 'black'": f"'background': {BACKGROUND}",
        ".text('Query ')": ".text(words.query + ' ')",
        ".text('Key ')": ".text(words.key + ' ')",
        r".text('q \u00D7 k (elementwise)')": ".text(words.product)",
        '.text("Softmax")': ".text(words.softmax)",
        '.text("No token selected")': ".text(words.none)",
        "config.expanded = false;\n            config.bidirectional": "config.expanded = true;\n            config.bidirectional",
    },
}
CONTROLS = {
    "head": '<span>{layer} <select id="layer"></select></span>',
    "model": "",
    "neuron": '<span><span class="dropdown-label">{layer} </span><select id="layer"></select> '
    '<span class="dropdown-label">{head} </span><select id="att_head"></select></span>',
}

PAGE = """<!doctype html>
<html lang="{language}"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>
  body {{ margin: 0; padding: 12px 24px; background: var(--ground); color: var(--ink); font: 15px system-ui, "Noto Sans CJK SC", sans-serif; }}
  svg {{ overflow: visible; }}
  select {{ font: inherit; margin: 0 10px 8px 2px; background: var(--ground); color: var(--ink); border: 1px solid var(--line); border-radius: 6px; padding: 2px 6px; }}
  select:focus-visible {{ outline: 2px solid var(--ink); }}
  .head text, .neuron text, .model svg > text {{ fill: var(--ink); }}
  .dark.head .background {{ fill: #333; }}
  .head #attention line {{ stroke-width: 3px; }}
  .dark.head #attention {{ filter: brightness(1.9); }} /* a line is as opaque as its weight by the number of heads */
</style>
<body class="{view}"><template><div id="drawing">{controls}<div id="vis"></div></div></template>
<script>{jquery}</script>
<script>{d3}</script>
<script>
  let drawing;
  const words = {words};
  const require = {{ config() {{}} }}, requirejs = (names, draw) => {{ drawing = () => draw(jQuery, d3); }};
  console.log = () => {{}}; // BertViz logs its version of d3
</script>
<script>{script}</script>
<script>
  // the drawing as SVG at its full size, with the computed colour of its text
  function picture() {{
    const drawn = document.querySelector("#vis svg"), copy = drawn.cloneNode(true), box = drawn.getBBox();
    copy.setAttribute("width", Math.ceil(box.x + box.width + 8));
    copy.setAttribute("height", Math.ceil(box.y + box.height + 8));
    copy.setAttribute("font-family", "system-ui, sans-serif");
    const shown = [...drawn.querySelectorAll("text")];
    copy.querySelectorAll("text").forEach((text, i) => text.setAttribute("fill", getComputedStyle(shown[i]).fill));
    return new XMLSerializer().serializeToString(copy);
  }}
  const tell = (message) => parent.postMessage(message, "*");
  new ResizeObserver(() => tell({{ height: document.documentElement.scrollHeight }})).observe(document.body);
  addEventListener("message", ({{ source, data }}) => {{
    if (source !== parent) return;
    if (data.ask === "svg") return tell({{ svg: picture() }});
    window.bertviz_params = data;
    for (const [name, value] of Object.entries(data.colours)) document.documentElement.style.setProperty(`--${{name}}`, value);
    document.body.classList.toggle("dark", data.display_mode === "dark");
    document.querySelector("#drawing")?.remove();
    document.body.prepend(document.querySelector("template").content.cloneNode(true));
    drawing();
    tell({{ drawn: true, height: document.body.scrollHeight + 16 }});
  }});
  addEventListener("keydown", (event) => {{
    if (event.target.closest("select") || event.ctrlKey || event.metaKey) return;
    if (!["ArrowLeft", "ArrowRight", "Home", "End", " ", "Escape"].includes(event.key)) return;
    event.preventDefault();
    tell({{ key: event.key }});
  }});
  tell({{ ready: true }});
</script>
</html>
"""


def lines_needed(view: str, shape: tuple[int, ...]) -> int:
    """Lines and boxes that a view draws at once for maps (snapshot, layer, head, query, key)."""
    _, layers, heads, rows, columns = shape
    if view == "neuron":
        return 8 * rows * columns + (rows + 2 * columns) * 64
    return heads * rows * columns * (layers if view == "model" else 1)


def drawable_layers(view: str, shape: tuple[int, ...]) -> int:
    """How many layers a view can have without freezing the page; 0: none."""
    _, layers, heads, rows, columns = shape
    per_layer = heads * rows * columns
    if (lines_needed(view, shape) if view == "neuron" else per_layer) > MAX_LINES:
        return 0
    return max(1, min(layers, (MAX_LINES if view == "model" else MAX_SENT) // per_layer))


def read_package_file(package: str, path: str) -> str:
    """The text of a file in an installed package, without importing the package."""
    return Path(str(distribution(package).locate_file(path))).read_text("utf-8")


def patched_script(view: str) -> str:
    """BertViz's script of a view, its parameters taken from the message; fails if a replacement no longer applies."""
    script = read_package_file("bertviz", f"bertviz/{view}_view.js").replace(
        "PYTHON_PARAMS;", "window.bertviz_params;"
    )
    for original, replacement in REPLACEMENTS[view].items():
        if original not in script:
            raise RuntimeError(f"BertViz's {view} view no longer has {original}.")
        script = script.replace(original, replacement)
    return script


@lru_cache
def render_page(view: str, language: str) -> str:
    words = {
        key.removeprefix("bertviz."): text for key, text in WORDS[language].items() if key.startswith("bertviz.")
    }
    return PAGE.format(
        view=view,
        language=language,
        controls=CONTROLS[view].format(**words),
        words=json.dumps(words, ensure_ascii=False),
        jquery=read_package_file("XStatic-jQuery", "xstatic/pkg/jquery/data/jquery.min.js"),
        d3=read_package_file("mpld3", "mpld3/js/d3.v5.min.js"),
        script=patched_script(view),
    )
