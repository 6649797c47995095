// The Generate tab: what the chosen run gives back, in the way it gives it: text, tags, spans, fillings, an answer or a
// class; and below, what it was asked in its training.

import { askArrays } from "./api.js";
import { make } from "./dom.js";
import { Classes } from "./generate_classes.js";
import { Masked } from "./generate_masked.js";
import { Objective } from "./generate_objective.js";
import { question } from "./generate_parts.js";
import { Question } from "./generate_question.js";
import { Spans } from "./generate_spans.js";
import { Tags } from "./generate_tags.js";
import { Writer } from "./generate_writer.js";
import { Latest } from "./latest.js";
import { on, set, shown, state } from "./store.js";
import { say } from "./words.js";

const VIEWS = { label: Classes, tags: Tags, spans: Spans, masked: Masked, answer: Question, stream: Writer, pairs: Writer };
const OWN = { ways: { a: {}, b: { strategy: "sample", temperature: 1.5 } }, writing: {}, token: { side: "a", at: 0 }, node: null, masks: null, scoresAs: "scores", spanKind: 0, asked: 0 };

export function mountGenerate(parent) {
  set(Object.fromEntries(Object.entries(OWN).filter(([key]) => !(key in state))));
  const boxes = new Map(), made = new Map(), problem = make("p", { class: "problem", role: "alert", hidden: true });
  const top = make("div"), bottom = make("section", { class: "generate-objective" });
  const nothing = make("p", { class: "nothing", hidden: true });
  parent.append(nothing, problem, top, bottom);
  const objective = new Objective(bottom);
  const visible = () => parent.clientWidth > 0 && Boolean(shown.look && shown.story) && shown.story.name === state.run;

  // what is still there of another run steps back until this one's answer has come
  const arrived = () => top.removeAttribute("data-stale");
  on(["story"], () => top.toggleAttribute("data-stale", true));

  // one view for each way of answering, made when it is first needed
  const view = () => {
    const kind = VIEWS[shown.story.form];
    if (!made.has(kind)) {
      boxes.set(kind, make("div", { class: "generate-view" }));
      top.append(boxes.get(kind));
      made.set(kind, new kind(boxes.get(kind), arrived));
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
    if (last !== input()) set({ masks: null, node: null, token: { ...state.token, at: 0 } });
    last = input();
  });
  on(["look", "story", "snapshot", "ways", "writing", "masks"], want);
  on(["token", "node", "scoresAs", "spanKind", "theme"], () => { if (visible() && shown.story.form in VIEWS) view().show(); });
  const wantObjective = () => { if (visible() && !shown.story.checkpoint) objective.want(); }; // a checkpoint brings no training
  on(["story", "asked", "theme"], wantObjective);
  new ResizeObserver(() => { want(); wantObjective(); }).observe(parent);
}
