// Inside a recurrent network: all units, the state's path or the gradient on the left; one unit and its equations right.

import { Refusal } from "./api.js";
import { chips, make } from "./dom.js";
import { fresh, layerName, loadWorkings } from "./gates_data.js";
import { Equations } from "./gates_equations.js";
import { Gradient } from "./gates_gradient.js";
import { Path } from "./gates_path.js";
import { busy } from "./header.js";
import { OneUnit } from "./gates_unit.js";
import { firstSort, order, Units } from "./gates_units.js";
import { chooseRun } from "./session.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, say } from "./words.js";

const RECURRENT = ["rnn", "gru", "lstm", "seq2seq"];
const VIEWS = { units: Units, path: Path, gradient: Gradient };
const OWN = { gatesView: "units", through: "time", pathOf: "hidden", gradientOf: "input" };

export function mountGates(parent) {
  set(Object.fromEntries(Object.entries(OWN).filter(([key]) => !(key in state))));
  const views = make("div", { class: "chips" }), layers = make("div", { class: "chips" }), nothing = make("div", { class: "nothing", hidden: true });
  const left = make("section", { class: "gates-left" }), right = make("section", { class: "gates-right" });
  const top = make("div", { class: "gates-top" }, views, layers), body = make("div", { class: "gates-views" }, left, right);
  const problem = make("p", { class: "gates-problem", role: "alert", hidden: true });
  parent.append(problem, nothing, top, body);
  const boxes = Object.fromEntries(Object.keys(VIEWS).map((name) => [name, make("div")]));
  left.append(...Object.values(boxes));
  const made = {}, view = () => (made[state.gatesView] ??= new VIEWS[state.gatesView](boxes[state.gatesView]));
  const one = new OneUnit(right), equations = new Equations(right);
  let begun = null, telling = "index"; // the layer whose first unit has been chosen, and the order that was chosen for it
  const visible = () => parent.clientWidth > 0 && Boolean(shown.look);

  const arrive = async () => {
    if (!visible()) return;
    const some = shown.look.cells.length > 0;
    nothing.hidden = some;
    top.hidden = body.hidden = !some;
    if (!some) return sayNothing(nothing);
    try {
      problem.hidden = true;
      await busy(loadWorkings());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problem.hidden = false;
      problem.textContent = error.message;
    }
  };
  const offer = () => {
    if (!visible() || !fresh()) return;
    chips(views, Object.keys(VIEWS).map((value) => ({ value, text: say(`gates.view.${value}`) })), state.gatesView, (gatesView) => set({ gatesView }), say("gates.view"));
    layers.hidden = shown.look.cells.length < 2;
    chips(layers, shown.look.cells.map(({ name }) => ({ value: name, text: layerName(name), title: name })), state.cells, (cells) => set({ cells }), say("gates.which_layer"));
    for (const [name, box] of Object.entries(boxes)) box.hidden = name !== state.gatesView;
  };
  const draw = () => {
    if (!visible() || !fresh()) return;
    view().draw();
    one.draw();
    equations.draw();
  };
  const begin = () => {
    if (!fresh() || begun === `${state.run} ${state.cells}`) return;
    begun = `${state.run} ${state.cells}`;
    if (state.sort === telling) set({ sort: (telling = firstSort()) }); // unless a person has chosen another
    set({ unit: order()[0] });
  };

  on(["look"], arrive);
  on(["workings", "cells"], () => { if (visible()) begin(); });
  on(["workings", "cells", "gatesView"], offer);
  on(["workings", "snapshot", "cells", "point", "unit", "step", "sort", "theme", "gatesView", "through", "pathOf", "gradientOf"], draw);
  new ResizeObserver(() => { if (visible()) (fresh() ? (begin(), offer(), draw()) : arrive()); }).observe(parent);
}

function sayNothing(element) {
  const runs = shown.runs.filter(({ family }) => RECURRENT.includes(family));
  element.replaceChildren(make("p", {}, say("gates.none", { family: say(`a_family.${shown.story.family}`) })), make("div", { class: "chips" },
    ...runs.map(({ name, title }) => make("button", { type: "button", class: "chip", onclick: () => chooseRun(name) }, inLanguage(title)))));
}
