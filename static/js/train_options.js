// Native controls of options (app/tabs/train/options.py) follow a recipe in the page's state, which holds only what differs
// from its variant, and set it: some hundred controls, of which a change moves few, need no request.

import { tie } from "./components.js";
import { on, set, state } from "./store.js";
import { inLanguage, say } from "./words.js";
import { sentences } from "./sentences.js";

const UNFOLDING_MS = 300;
const sets = new Map();
const alike = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export function optionControls(element, { state_key: key, places, boxes, recipes }, trigger) {
  const shown = places.map(() => ({})), opened = boxes.map(({ of }, i) => undefined);
  const chosen = () => state[key] ?? { model: {}, task_options: {}, training: {} };
  const isFor = ({ part, of }) => !of || of === (part === "model" ? chosen().family : chosen().task);
  const base = ({ part, name, default: usual }) => {
    const { family, task, variant, base: given } = chosen();
    const from = given ?? recipes.find((one) => one.family === family && one.task === task && one.variant === variant);
    return from?.[part] && name in from[part] ? from[part][name] : usual;
  };
  sets.set(key, { places, chosen, base });
  tie(`options of ${key}`, () => {
    const updates = places.map((place, i) => {
      if (!isFor(place)) return undefined;
      const usual = base(place), mine = chosen()[place.part], value = place.name in mine ? mine[place.name] : usual;
      const changes = { value: written(place, value), elem_classes: classes(place, !alike(value, usual)), info: helpOf(place, value) };
      if (document.activeElement?.closest(`#${CSS.escape(place.id)}`)) delete changes.value; // nobody's typing is replaced
      const news = Object.entries(changes).filter(([name, one]) => !alike(shown[i][name], one));
      Object.assign(shown[i], changes);
      return news.length ? { __type__: "update", ...Object.fromEntries(news) } : undefined;
    });
    return [...updates, ...boxes.map((box, i) => (opened[i] === isFor(box) ? undefined : { __type__: "update", visible: (opened[i] = isFor(box)) }))];
  });
  on([key, "language"], () => trigger("change"));
  trigger("change");
}

const classes = ({ name }, changed) => ["option", `option-${name}`, ...(changed ? ["changed"] : [])];
const helpOf = ({ help, choices }, value) => (choices[value] ? sentences(inLanguage(help), say("choice_means", { choice: value, meaning: inLanguage(choices[value]) })) : inLanguage(help));

function written({ kind, optional }, value) {
  if (kind === "bool" && optional) return value === null ? "automatic" : value ? "on" : "off";
  return optional ? String(value ?? "") : value;
}

// What cannot be read as a number goes as it is, for core to refuse.
function read({ kind, optional }, value) {
  if (kind === "bool" && optional) return { automatic: null, on: true, off: false }[value];
  if (kind === "choice" || kind === "bool") return value;
  if (optional && value.trim() === "") return null;
  return value === null || value === "" || Number.isNaN(Number(value)) ? String(value ?? "") : Number(value);
}

window.innerview.option = (key, index, value) => {
  const { places, chosen, base } = sets.get(key), place = places[index], recipe = chosen();
  const { [place.name]: _, ...others } = recipe[place.part], now = read(place, value);
  set({ [key]: { ...recipe, [place.part]: alike(now, base(place)) ? others : { ...others, [place.name]: now } } });
};

window.innerview.seed = (value) => set({ recipe: { ...state.recipe, seed: value ?? Number(state.recipe.seed) + 1 } });

// app/tabs/train/refusal.py: a sentence below the control of the option it is about, or of the first of several.
export function refusal(element, props, watch) {
  const sentence = Object.assign(document.createElement("p"), { className: "problem option-problem" });
  let refused = null;
  watch("value", () => {
    sentence.remove();
    refused?.removeAttribute("aria-invalid");
    const { option, text } = props.value ?? {};
    if (!text) return;
    const { family, task } = state[props.stateKey], names = String(option ?? "").split(", ");
    const ids = names.flatMap((name) => [["training", ""], ["task_options", task], ["model", family]].map(([part, of]) => `${props.stateKey}-${part}-${of}-${name}`.replaceAll(" ", "_")));
    const place = (control) => {
      refused = control.querySelector("input");
      refused?.setAttribute("aria-invalid", "true");
      sentence.textContent = inLanguage(text);
      control.append(sentence);
    };
    const found = () => [...ids, `${props.stateKey}-${names[0]}`].map((id) => document.getElementById(id)).find(Boolean), control = found();
    if (control) return place(control);
    document.querySelector(".train-more > .label-wrap:not(.open)")?.click(); // what is folded away is not there yet
    const { value } = props;
    setTimeout(() => value === props.value && found() && place(found()), UNFOLDING_MS);
  });
}
