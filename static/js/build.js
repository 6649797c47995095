// The Build tab's native controls (app/tabs/build) and the state's `build`: two configurations, of which one may be chosen
// and changed. A control and the state follow each other here, option by option, without a request.

import "./components.js"; // window.innerview
import { on, set, state } from "./store.js";
import { openTab } from "./tabs.js";
import { sentences } from "./sentences.js";
import { inLanguage, loadWords, say } from "./words.js";

const families = new Map();
const FOLDED = { open: null, unrolled: [] }; // the first level is open

// what is chosen, or the model of the run that is looked at, once the server has told it
const now = (side = state.build.side) => state.build[side] ?? state.built?.[side] ?? null;
const key = (choice) => JSON.stringify(choice && [choice.family, Object.entries(choice.options).sort()]);

function choose(choice) {
  const same = choice?.family === now()?.family;
  set({ build: { ...state.build, [state.build.side]: choice }, ...(same ? {} : { folded: FOLDED, copies: {}, part: null }) });
}

// A control's value as core takes it; what cannot be read as a number goes as it is, for core to refuse.
function read({ kind, optional }, value) {
  if (kind === "bool" && optional) return value === "" ? null : value === "true";
  if (kind === "bool" || kind === "choice") return value;
  if (value === null || value === "") return optional ? null : "";
  return Number.isFinite(Number(value)) ? Number(value) : value;
}

const written = ({ kind, optional }, value) => (optional ? String(value ?? "") : kind === "int" || kind === "float" ? (typeof value === "number" ? value : null) : value);

const MOVES = {
  family: (family) => family !== now()?.family && choose({ family, options: {} }),
  side: (side) => set({ build: { ...state.build, side } }),
  compare: () => set({ build: { ...state.build, a: now("a"), b: { ...now("a") }, side: "b" } }),
  compare_end: () => set({ build: { ...state.build, b: null, side: "a" } }),
  back: () => choose(state.build.side === "a" ? null : state.built.run),
  unfold: () => set({ folded: { ...state.folded, open: state.built[state.build.side].foldable } }),
  fold: () => set({ folded: { ...state.folded, open: [] } }),
};

function use(family, name, value) {
  if (!family) return MOVES[name](value);
  const { options, presets, last } = families.get(family), option = options.find((one) => one.name === name);
  if (!option) return choose({ family, options: presets[value] });
  const { [name]: _, ...others } = now().options, chosen = read(option, value);
  last[name] = JSON.stringify(chosen); // it shows that already
  choose({ family, options: JSON.stringify(chosen) === JSON.stringify(option.default) ? others : { ...others, [name]: chosen } });
}

const update = (changes) => ({ __type__: "update", ...changes });

// What differs from what the controls show, for each of them.
function follow(family) {
  const { names, options, presets, last } = families.get(family), choice = now();
  const changed = (name, value, changes) => {
    const text = JSON.stringify(value);
    if (last[name] === text) return undefined;
    last[name] = text;
    return update(changes());
  };
  if (!family) {
    const compared = Boolean(state.build.b), own = !state.built || key(choice) === key(state.built.run);
    const shown = { family: choice?.family ?? null, side: compared ? state.build.side : null };
    const visible = { side: compared, compare: !compared, compare_end: compared, back: !own };
    return names.map((name) => changed(name, [shown[name], visible[name]], () => ({ ...(name in shown && { value: shown[name] }), ...(name in visible && { visible: visible[name] }) })));
  }
  const mine = choice?.family === family;
  if (!mine) return names.map((name) => (name === "group" && last.group ? changed(name, false, () => ({ elem_classes: ["build-family", "away"] })) : undefined));
  const one = (name) => {
    if (name === "group") return changed(name, true, () => ({ visible: true, elem_classes: ["build-family"] })); // made when first shown, then only put away
    if (name === "preset") {
      const preset = Object.keys(presets).find((size) => key({ family, options: presets[size] }) === key(choice)) ?? null;
      return changed(name, preset, () => ({ value: preset }));
    }
    if (name === "rest") return options.some(({ name: at, folded }) => folded && state.refused === at) ? update({ open: true }) : undefined;
    const option = options.find((all) => all.name === name), value = choice.options[name] ?? option.default, wrong = state.refused === name;
    const looks = ["option", JSON.stringify(value) === JSON.stringify(option.default) ? "" : "changed", wrong ? "wrong" : ""].filter(Boolean);
    const texts = option.kind === "choice" ? { info: sentences(inLanguage(option.help), say("choice_means", { choice: inLanguage(option.names[value] ?? { en: value, zh: value }), meaning: inLanguage(option.choices[value] ?? { en: "", zh: "" }) })) } : {};
    const moved = changed(name, value, () => ({ value: written(option, value) })), dressed = changed(`${name} looks`, [looks, texts], () => ({ elem_classes: looks, ...texts, ...named(option, last) }));
    return moved || dressed ? { ...moved, ...dressed } : undefined;
  };
  return names.map(one);
}

// the names of choices, once: Python writes them in English
function named({ name, kind, optional, choices, names }, last) {
  if (last[`${name} named`] || state.language === "en") return {};
  last[`${name} named`] = true;
  if (kind === "choice") return { choices: Object.keys(choices).map((choice) => [inLanguage(names[choice]), choice]) };
  return kind === "bool" && optional ? { choices: [[say("automatic"), ""], [say("on"), "true"], [say("off"), "false"]] } : {};
}

// app/tabs/build/options.py: BuildControls
export async function buildControls(props, trigger) {
  await loadWords();
  families.set(props.family, { ...props, last: {} });
  on(["build", "built", "refused"], () => trigger("change"));
  trigger("change");
}

window.innerview.build = { use, follow, openTab };
