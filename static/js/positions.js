// The Positions tab: a scheme's idea and formula, its pictures, and what it does for a trained model.

import { askJson } from "./api.js";
import { chips, make } from "./dom.js";
import { AlibiPanel } from "./positions_alibi.js";
import { Effect } from "./positions_effect.js";
import { formulas } from "./positions_formulas.js";
import { LearnedPanel } from "./positions_learned.js";
import { NonePanel } from "./positions_none.js";
import { choose, chosen } from "./positions_parts.js";
import { RopePanel } from "./positions_rope.js";
import { SinusoidalPanel } from "./positions_sinusoidal.js";
import { T5Panel } from "./positions_t5.js";
import { on, shown, state } from "./store.js";
import { say, sayInto } from "./words.js";

const PANELS = { sinusoidal: SinusoidalPanel, learned: LearnedPanel, rope: RopePanel, alibi: AlibiPanel, t5: T5Panel, none: NonePanel };
const FIRST = {
  position: 5, offset: 3, pair: 1, head: 0, sides: "two", key: "same", // of the fixed schemes
  part: null, view: "whole", snapshot: null, // of trained ones: which part, whole or what was added, when
  with: "none", order: "shuffle", shuffle: 0, // of the sentence in two orders
};

export async function mountPositions(parent) {
  const { limits, comparison } = await askJson("positions");
  const defaults = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit.default]));
  state.positions = { ...defaults, ...FIRST, scheme: null, text: say("pos.none.example"), ...state.positions };
  const schemes = make("div", { class: "chips positions-schemes" }), run = make("p", { class: "positions-run" });
  const formula = make("div", { class: "formula", role: "math" }), idea = make("p", {}), weakness = make("p", { class: "weakness" });
  const pictures = make("div", {}), effect = make("section", { class: "positions-below" });
  parent.append(schemes, run, make("section", { class: "card positions-idea" }, formula, make("div", {}, idea, weakness)), pictures, effect);
  const below = new Effect(effect, comparison), panels = {};

  let missed = false, drawn = null, shownRun = null; // did something change while the tab was hidden; what the words are about
  function draw(changed = []) {
    missed = !parent.clientWidth;
    if (missed || !shown.story || !shown.look) return;
    if (changed.join() === "snapshot") return panels[chosen().scheme]?.follow();
    const own = shown.story.shape.position;
    if (own && shown.story.name !== shownRun) state.positions.scheme = own; // another run: its own scheme first
    shownRun = shown.story.name;
    if (!chosen().scheme) state.positions.scheme = "sinusoidal";
    const { scheme } = chosen(), key = JSON.stringify([scheme, own, shown.story.family, document.body.className]);
    panels[scheme] ??= new PANELS[scheme](pictures, limits);
    if (key !== drawn) describe(scheme, own);
    drawn = key;
    panels[scheme].update();
  }

  function describe(scheme, own) {
    const offered = Object.keys(PANELS).map((value) => ({ value, text: say(`pos.scheme.${value}`) }));
    chips(schemes, offered, scheme, (value) => choose({ scheme: value }), say("pos.schemes"));
    sayInto(run, own ? say("pos.run_has", { scheme: say(`pos.scheme.${own}`) }) : say("pos.run_none", { family: say(`a_family.${shown.story.family}`) }));
    formula.replaceChildren(...formulas[scheme]());
    formula.setAttribute("aria-label", say(`pos.formula.${scheme}`));
    sayInto(idea, say(`pos.idea.${scheme}`));
    sayInto(weakness, say(`pos.weakness.${scheme}`));
    for (const [name, panel] of Object.entries(panels)) panel.box.hidden = name !== scheme;
    below.draw();
  }
  on(["positions", "snapshot", "story", "theme"], draw);
  new ResizeObserver(() => missed && draw()).observe(parent);
}
