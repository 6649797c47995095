// Mounts the parts of the page as Gradio brings them up; the first one to come starts the session.

import { watchConnection } from "./connection.js";
import { mountHeader } from "./header.js";
import { begin } from "./session.js";
import "./sidebar.js";
import { set, show, shown } from "./store.js";
import { watchTabs } from "./tabs.js";
import "./token_links.js";
import { mountTimeline } from "./timeline.js";
import { followLanguage, loadWords, wasChosen } from "./words.js";

const VIEWS = {
  header: mountHeader,
  timeline: mountTimeline,
  train: lazy("./train.js", "mountTrain"),
  gates: lazy("./gates.js", "mountGates"),
};

const words = Promise.all([loadWords(), followLanguage()]);
const started = words.then(begin);
set({ chosenLanguage: wasChosen });
words.then(watchConnection);

export async function mount(element, view) {
  await words;
  watchTabs();
  await VIEWS[view](element);
  await started;
  show({ runs: shown.runs }); // a part that came up late is told everything once
  if (shown.story) show({ story: shown.story, look: shown.look });
}

function lazy(path, name) {
  return async (element) => (await import(path))[name](element);
}

new MutationObserver(() => {
  set({ theme: document.body.classList.contains("dark") ? "dark" : "light" });
  show({ theme: document.body.className });
}).observe(document.body, { attributes: true, attributeFilter: ["class"] });
