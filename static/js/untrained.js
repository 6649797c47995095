// Where a run shows its training, a checkpoint says that it brings none.

import { make } from "./dom.js";
import { on, shown } from "./store.js";
import { inLanguage, say } from "./words.js";

export function mountUntrained(box) {
  const words = make("p", { class: "untrained", hidden: true });
  box.append(words);
  on(["story"], () => {
    const checkpoint = Boolean(shown.story.checkpoint);
    box.classList.toggle("without-training", checkpoint);
    words.hidden = !checkpoint;
    words.textContent = checkpoint ? say("checkpoint.no_training", { title: inLanguage(shown.story.title) }) : "";
  });
}
