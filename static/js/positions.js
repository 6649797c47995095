// The Positions tab: a scheme's idea and formula, its pictures, and what it does for a trained model.

import { askJson } from "./api.js";
import { chips, make } from "./dom.js";
import { Picture } from "./live/picture.js";
import { formulas } from "./positions_formulas.js";
import { SCHEMES } from "./positions_schemes.js";
import { on, set, shown, state } from "./store.js";
import { say, sayInto } from "./words.js";

const FOLLOWED = [
  "scheme", "position", "offset", "pair", "biasHead", "sides", "ropeKey", "ropeSeed", "positionPart", "tableView", "learnedSnapshot", "t5Snapshot",
  "sentence", "wordOrder", "shuffleSeed", "modelScheme", "snapshot", "story",
];

export async function mountPositions(parent) {
  const { limits, figures } = await askJson("positions");
  const first = { ...Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit.default])), sentence: say("pos.none.example") };
  set(Object.fromEntries(Object.entries(first).filter(([name]) => state[name] == null)));
  const schemes = make("div", { class: "chips positions-schemes" }), run = make("p", { class: "positions-run" });
  const formula = make("div", { class: "formula", role: "math" }), idea = make("p", {}), weakness = make("p", { class: "weakness" });
  const panels = make("div", {}), below = make("section", { class: "positions-below" }), made = {};
  parent.append(schemes, run, make("section", { class: "card positions-idea" }, formula, make("div", {}, idea, weakness)), panels, below);
  const effect = new Picture(below, { className: "positions-effect", about: () => say("pos.kept_about", { scheme: say(`pos.scheme.${state.scheme}`) }) });

  let missed = false, described = null, shownRun = null; // did something change while the tab was hidden; what the words are about
  function draw() {
    missed = !parent.clientWidth;
    if (missed || !shown.story || !shown.look) return;
    const own = shown.story.shape.position, another = shown.story.name !== shownRun;
    shownRun = shown.story.name;
    if ((another && own) || !state.scheme) set({ scheme: own ?? "sinusoidal" }); // another run: its own scheme first
    update(own);
  }

  function update(own) {
    const { scheme } = state, key = JSON.stringify([scheme, own, shown.story.family]);
    made[scheme] ??= new SCHEMES[scheme](panels, limits);
    if (key !== described) describe(scheme, own);
    described = key;
    made[scheme].update();
  }

  function describe(scheme, own) {
    const offered = Object.keys(SCHEMES).map((value) => ({ value, text: say(`pos.scheme.${value}`) }));
    chips(schemes, offered, scheme, (value) => set({ scheme: value }), say("pos.schemes"));
    sayInto(run, own ? say("pos.run_has", { scheme: say(`pos.scheme.${own}`) }) : say("pos.run_none", { family: say(`a_family.${shown.story.family}`) }));
    formula.replaceChildren(...formulas[scheme]());
    formula.setAttribute("aria-label", say(`pos.formula.${scheme}`));
    sayInto(idea, say(`pos.idea.${scheme}`));
    sayInto(weakness, say(`pos.weakness.${scheme}`));
    for (const [name, panel] of Object.entries(made)) panel.box.hidden = name !== scheme;
    if (!effect.figure) effect.show(figures.effect, {});
  }
  on([...FOLLOWED, ...Object.keys(limits)], draw);
  new ResizeObserver(() => missed && draw()).observe(parent);
}
