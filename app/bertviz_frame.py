"""BertViz's own views (Vig 2019, arxiv.org/abs/1906.05714) of our tensors, as pages for a sandboxed frame.

A page holds BertViz's script as it is installed, d3 and jQuery, and no data: tensors and tokens come in as messages
from the app and go back as nothing but a height or a picture. So no token is ever part of a script or of markup, and
the page's policy forbids it every connection.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.metadata import distribution

from app.i18n import WORDS

MOST_NUMBERS = 400_000  # in the neuron view's queries and keys

# What BertViz writes by itself is said in the reader's language; the neuron view opens with its vectors.
CHANGED = {
    "head": {},
    "model": {
        '.text("Heads")': ".text(words.heads)",
        '.text("Layers")': ".text(words.layers)",
        """.text('Layer ' + config.layers[layerIndex] + ", Head " + config.heads[headIndex])""": (
            ".text(words.head + ' ' + config.layers[layerIndex] + '.' + config.heads[headIndex])"
        ),
    },
    "neuron": {
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
  body {{ margin: 0; padding: 8px 24px; background: #fff; color: #1b2130; font: 15px system-ui, "Noto Sans CJK SC", sans-serif; }}
  svg {{ overflow: visible; }}
  select {{ font: inherit; margin: 0 10px 8px 2px; }}
  body.dark {{ background: #000; color: #e8ebf2; }}
  body.dark select {{ background: #171c28; color: #e8ebf2; border: 1px solid #2a3142; }}
  body.dark.head text, body.dark.neuron text {{ fill: #e8ebf2; }}
  body.dark.head .background {{ fill: #333; }}
  body.dark.model svg > text {{ fill: #e8ebf2; }}
</style>
<body class="{view}"><template><div id="drawing">{controls}<div id="vis"></div></div></template>
<script>{jquery}</script>
<script>{d3}</script>
<script>
  let drawing;
  const words = {words};
  const require = {{ config() {{}} }}, requirejs = (names, draw) => {{ drawing = () => draw(jQuery, d3); }};
  console.log = () => {{}}; // BertViz tells of its d3
</script>
<script>{script}</script>
<script>
  const tell = (message) => parent.postMessage(message, "*");
  new ResizeObserver(() => tell({{ height: document.documentElement.scrollHeight }})).observe(document.body);
  addEventListener("message", ({{ source, data }}) => {{
    if (source !== parent) return;
    if (data.ask === "svg") return tell({{ svg: new XMLSerializer().serializeToString(document.querySelector("#vis svg")) }});
    window.bertviz_params = data;
    document.body.classList.toggle("dark", data.display_mode === "dark");
    document.querySelector("#drawing")?.remove();
    document.body.prepend(document.querySelector("template").content.cloneNode(true));
    drawing();
    tell({{ drawn: true, height: document.body.scrollHeight + 16 }});
  }});
  tell({{ ready: true }});
</script>
</html>
"""


def installed(package: str, path: str) -> str:
    """A file of an installed package, without importing the package."""
    return distribution(package).locate_file(path).read_text("utf-8")


def script_of(view: str) -> str:
    """BertViz's script, its parameters taken from the message and its few words from ours."""
    script = installed("bertviz", f"bertviz/{view}_view.js").replace("PYTHON_PARAMS;", "window.bertviz_params;")
    for its_own, ours in CHANGED[view].items():
        if its_own not in script:
            raise RuntimeError(f"BertViz's {view} view no longer has {its_own}.")
        script = script.replace(its_own, ours)
    return script


@lru_cache
def page(view: str, language: str) -> str:
    said = {key.removeprefix("bertviz."): text for key, text in WORDS[language].items() if key.startswith("bertviz.")}
    return PAGE.format(
        view=view,
        language=language,
        controls=CONTROLS[view].format(**said),
        words=json.dumps(said, ensure_ascii=False),
        jquery=installed("XStatic-jQuery", "xstatic/pkg/jquery/data/jquery.min.js"),
        d3=installed("mpld3", "mpld3/js/d3.v5.min.js"),
        script=script_of(view),
    )
