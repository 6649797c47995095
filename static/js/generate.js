// The Generate tab: what the chosen run gives back, in the way it gives it: text, tags, spans, fillings, an answer or a
// class; and below, what it was asked in its training.

import { askArrays } from "./api.js";
import { make } from "./dom.js";
import { Answer, NOWHERE } from "./generate_answers.js";
import { question } from "./generate_parts.js";
import { Writer } from "./generate_writer.js";
import { Latest } from "./latest.js";
import { Picture } from "./live/picture.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, say } from "./words.js";

const FORMS = ["label", "tags", "spans", "masked", "answer", "stream", "pairs"];
const OWN = {
  ways: { a: {}, b: { strategy: "sample", temperature: 1.5 } }, writing: {}, // options of each way of writing, and of both
  side: "a", token: 0, node: -1, treeSide: "a", // the chosen token of one way, the chosen node of its tree (−1: none), the way whose tree is drawn
  masks: null, scoresAs: "scores", spanKind: 0, ...NOWHERE, example: 0,
};

export function mountGenerate(parent) {
  set(Object.fromEntries(Object.entries(OWN).filter(([key]) => !(key in state))));
  const boxes = new Map(), made = new Map(), problem = make("p", { class: "problem", role: "alert", hidden: true });
  const top = make("div"), bottom = make("section", { class: "generate-objective" });
  const nothing = make("p", { class: "nothing", hidden: true });
  parent.append(nothing, problem, top, bottom);
  const askExample = trainingExample(bottom);
  const visible = () => parent.clientWidth > 0 && Boolean(shown.look && shown.story) && shown.story.name === state.run;

  // what is still there of another run steps back until this one's answer has come
  const arrived = () => top.removeAttribute("data-stale");
  on(["story"], () => top.toggleAttribute("data-stale", true));

  // one view for each way of answering, made when it is first needed
  const view = () => {
    const kind = shown.story.form === "pairs" ? "stream" : shown.story.form;
    if (!made.has(kind)) {
      boxes.set(kind, make("div", { class: "generate-view" }));
      top.append(boxes.get(kind));
      made.set(kind, kind === "stream" ? new Writer(boxes.get(kind), arrived) : new Answer(boxes.get(kind), kind));
    }
    for (const [other, box] of boxes) box.hidden = other !== kind;
    return made.get(kind);
  };
  const latest = new Latest({
    ask: (asked) => askArrays("reply", asked), pause: 60,
    take: (answer) => { problem.hidden = true; arrived(); if (answer.form === shown.story.form) view().take(answer); },
    refuse: (sentence) => { problem.hidden = false; problem.textContent = sentence; arrived(); },
  });

  const want = () => {
    if (!visible()) return;
    const silent = shown.story.form === "none"; // a checkpoint without a head
    [nothing.hidden, top.hidden, bottom.hidden] = [!silent, silent, Boolean(shown.story.checkpoint)];
    nothing.textContent = silent ? say("checkpoint.no_head") : "";
    if (silent) return;
    const now = view();
    if (now.want) now.want();
    else latest.want({ ...question(), masks: shown.story.form === "masked" ? state.masks : null });
  };
  const input = () => JSON.stringify([state.run, state.text, state.heldOut]);
  let last = input();
  on(["look"], () => {
    if (last !== input()) set({ masks: null, node: -1, token: 0 });
    last = input();
  });
  on(["look", "story", "snapshot", "ways", "writing", "masks"], want);
  on(["side", "token", "node", "scoresAs", "spanKind"], () => { if (visible() && FORMS.includes(shown.story.form)) view().show(); });
  const wantExample = () => { if (visible() && !shown.story.checkpoint) askExample(); }; // a checkpoint brings no training
  on(["story", "example"], wantExample);
  new ResizeObserver(() => { want(); wantExample(); }).observe(parent);
}

// An example of the run's first batches as the model took it, and what it should say.
function trainingExample(parent) {
  const problem = make("p", { class: "problem", role: "alert", hidden: true }), picture = new Picture(parent, { about: () => inLanguage(shown.story.title) });
  parent.append(problem);
  picture.tools.append(make("button", { type: "button", class: "small", onclick: () => set({ example: state.example + 1 }) }, say("asked.another")));
  const latest = new Latest({
    ask: (asked) => askArrays("objective", asked), pause: 30,
    take: ({ figures, arrays }) => { problem.hidden = true; picture.show(figures.example, arrays); },
    refuse: (sentence) => { problem.hidden = false; problem.textContent = sentence; picture.show(null); },
  });
  return () => latest.want({ run: state.run, number: state.example % 10000 });
}
