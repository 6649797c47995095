// Mounts the parts of the page as Gradio brings them up; the first one to come starts the session.

import { mountAttention } from "./attention.js";
import { mountHeader } from "./header.js";
import { begin } from "./session.js";
import { mountSidebar } from "./sidebar.js";
import { show, shown } from "./store.js";
import { mountTimeline } from "./timeline.js";
import { loadWords } from "./words.js";

const VIEWS = {
  header: mountHeader,
  sidebar: mountSidebar,
  timeline: mountTimeline,
  attention: mountAttention,
  gates: lazy("./gates.js", "mountGates"),
  positions: lazy("./positions.js", "mountPositions"),
};

const words = loadWords();
const started = words.then(begin);

export async function mount(element, view) {
  await words;
  await VIEWS[view](element);
  await started;
  show({ runs: shown.runs }); // a part that came up late is told everything once
  if (shown.story) show({ story: shown.story, look: shown.look });
}

function lazy(path, name) {
  return async (element) => (await import(path))[name](element);
}

new MutationObserver(() => show({ theme: document.body.className })).observe(document.body, { attributes: true, attributeFilter: ["class"] });
