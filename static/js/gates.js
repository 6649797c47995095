// Inside a recurrent network: all units, the state's path or the gradient on the left; one unit and its equations right.

import { Refusal } from "./api.js";
import { chips, make } from "./dom.js";
import { array, fresh, layer, loadGates, pictured, tokens } from "./gates_data.js";
import { Equations } from "./gates_equations.js";
import { Gradients } from "./gates_gradients.js";
import { busy } from "./header.js";
import { Picture } from "./live/picture.js";
import { chooseRun } from "./session.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, say } from "./words.js";

const RECURRENT = ["rnn", "gru", "lstm", "seq2seq"];
const VIEWS = ["units", "path", "gradient"], THROUGH = ["time", "training"];
const TELLING = ["follows parity", "memory", "saturation", "index"]; // orders of the units, the most telling first

export function mountGates(parent) {
  const rows = Object.fromEntries(["views", "layers", "points", "through", "states"].map((name) => [name, make("div", { class: "chips" })]));
  const nothing = make("div", { class: "nothing", hidden: true }), problem = make("p", { class: "gates-problem", role: "alert", hidden: true });
  const left = make("section", { class: "gates-left" }), right = make("section", { class: "gates-right" });
  const top = make("div", { class: "gates-top" }, rows.views, rows.layers), body = make("div", { class: "gates-views" }, left, right);
  parent.append(problem, nothing, top, body);
  const [units, path] = ["gates-units", "gates-path"].map((className) => new Picture(left, { className, about: pictured }));
  const gradients = new Gradients(left), one = new Picture(right, { className: "gates-unit", about: pictured }), equations = new Equations(right);
  const legend = make("span", { class: "gates-legend" }), sorter = make("select", { "aria-label": say("gates.sort"), title: say("gates.sort_help"), onchange: () => set({ sort: sorter.value }) });
  units.tools.append(legend, make("label", { class: "gates-sort" }, say("gates.sort_by"), sorter));
  units.plot.before(make("div", { class: "gates-row" }, rows.points));
  path.tools.append(rows.states);
  one.tools.append(rows.through);
  let begun = null, telling = "index"; // the layer whose first unit has been chosen, and the order that was chosen for it
  const visible = () => parent.clientWidth > 0 && Boolean(shown.look);

  const arrive = async () => {
    if (!visible()) return;
    const some = shown.look.recurrent_layers.length > 0;
    nothing.hidden = some;
    top.hidden = body.hidden = !some;
    if (!some) return sayNothing(nothing);
    try {
      problem.hidden = true;
      await busy(loadGates());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problem.hidden = false;
      problem.textContent = error.message;
    }
  };

  // what this layer has no order for is in the order of its units; at first the most telling, and its first unit
  const begin = () => {
    const sorts = layer().sorts.map(({ value }) => value), first = begun !== `${state.run} ${state.recurrent_layer}`;
    if (first && state.sort === telling) set({ sort: (telling = TELLING.find((name) => sorts.includes(name))) }); // unless a person has chosen another
    if (!sorts.includes(state.sort)) set({ sort: "index" });
    // at first the long problems, on which the cells differ as they are known to, if this run is among those that read them
    if (state.gradientOf === null || (begun && begun.split(" ")[0] !== state.run)) set({ gradientOf: shown.gates.runs.long.includes(state.run) ? "long" : "input" });
    if (first) set({ unit: array("order").value(sorts.indexOf(state.sort), layer().points.indexOf(state.gate), 0) });
    begun = `${state.run} ${state.recurrent_layer}`;
  };

  const offer = () => {
    const { layers } = shown.gates, { points, sorts, states, signed, limits } = layer(), names = (values, word) => values.map((value) => ({ value, text: say(`gates.${word}.${value}`) }));
    chips(rows.views, names(VIEWS, "view"), state.gatesView, (gatesView) => set({ gatesView }), say("gates.view"));
    rows.layers.hidden = layers.length < 2;
    chips(rows.layers, layers.map(({ name, title }) => ({ value: name, text: inLanguage(title), title: name })), state.recurrent_layer, chooseLayer, say("gates.which_layer"));
    chips(rows.points, names(points, "point").map((one) => ({ ...one, title: `${state.recurrent_layer}.${one.value}` })), state.gate, (gate) => set({ gate }), say("gates.which_point"));
    chips(rows.through, names(THROUGH, "through"), state.through, (through) => set({ through }), say("gates.through"));
    rows.states.hidden = states.length < 2;
    chips(rows.states, names(states, "point"), stateShown(), (pathOf) => set({ pathOf }), say("gates.path_of"));
    const option = ({ value, text }) => make("option", { value, selected: value === state.sort }, inLanguage(text)), follow = sorts.filter(({ value }) => value.startsWith("follows "));
    sorter.replaceChildren(...sorts.filter((sort) => !follow.includes(sort)).map(option), make("optgroup", { label: say("gates.sort.follows") }, ...follow.map(option)));
    const both = signed.includes(state.gate), limit = limits[state.gate], most = limit === 1 ? "1" : limit.toFixed(1);
    legend.replaceChildren(both ? `−${most}` : "0", make("i", { class: both ? "signed" : "weight" }), most);
  };

  // pictures follow the state by themselves; here is only which of them there are
  const show = (picture, name) => {
    const spec = name && shown.gates.figures[`${state.recurrent_layer}/${name}`];
    if (picture.spec !== spec) picture.show((picture.spec = spec), shown.gates.arrays);
  };
  const draw = () => {
    show(units, state.gatesView === "units" && "units");
    show(path, state.gatesView === "path" && `path.${stateShown()}`);
    show(one, state.through === "training" ? "training" : "tokens");
    gradients.draw();
    equations.draw();
  };
  const refresh = (...parts) => { if (visible() && fresh()) for (const part of parts) part(); };

  on(["look"], arrive);
  on(["gates", "recurrent_layer", "gatesView", "through", "pathOf", "sort", "gate"], () => refresh(begin, offer, draw));
  on(["snapshot", "unit", "time"], () => refresh(() => equations.draw()));
  on(["gradientOf"], () => refresh(() => gradients.draw()));
  new ResizeObserver(() => { if (visible()) (fresh() ? refresh(begin, offer, draw) : arrive()); }).observe(parent);
}

const stateShown = () => (layer().states.includes(state.pathOf) ? state.pathOf : "hidden");

// the token read last stays the last where another layer reads other tokens
function chooseLayer(name) {
  const last = tokens().length - 1;
  set({ recurrent_layer: name, ...(state.time >= last ? { time: tokens(name).length - 1 } : {}) });
}

function sayNothing(element) {
  const runs = shown.runs.filter(({ family }) => RECURRENT.includes(family));
  element.replaceChildren(make("p", {}, say("gates.none", { family: say(`a_family.${shown.story.family}`) })), make("div", { class: "chips" },
    ...runs.map(({ name, title }) => make("button", { type: "button", class: "chip", onclick: () => chooseRun(name) }, inLanguage(title)))));
}
