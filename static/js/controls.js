// Controls for a set of options, made from what core tells of them (app/service/build/controls.py): range, choices, default, help.

import { make } from "./dom.js";
import { sentences } from "./sentences.js";
import { inLanguage, say } from "./words.js";

export class Controls {
  // change(values, name): called with all values after each change, and which one it was; label(name): what an option, or
  // one of its choices (label(name, choice)), is called; its title and core's own name unless told otherwise
  constructor(parent, change, label = null) {
    this.element = make("div", { class: "controls" });
    this.change = change;
    this.label = label;
    this.rows = new Map();
    parent.append(this.element);
  }

  // options as from the server; values: those that differ from their defaults; main: names of those that are not folded away
  show(options, values = {}, main = null) {
    this.rows = new Map(options.map((option) => [option.name, this.row(option, values[option.name] ?? option.default)]));
    const rows = [...this.rows.values()], first = rows.filter(({ option }) => !main || main.includes(option.name)), rest = rows.filter((row) => !first.includes(row));
    this.folded = rest.length ? make("details", { class: "controls-rest", open: this.folded?.open },
      make("summary", {}, say("more_options", { n: rest.length })), make("div", { class: "controls" }, ...rest.flatMap(placed))) : null;
    this.element.replaceChildren(...[...first.flatMap(placed), this.folded].filter(Boolean));
  }

  row(option, value) {
    const id = `option-${++made}`, hint = make("small", { id: `${id}-hint` }, inLanguage(option.help));
    const problem = make("p", { class: "problem", role: "alert", id: `${id}-problem` }), below = make("div", { class: "control control-problem", "data-problem": option.name, hidden: true }, problem);
    const called = (choice) => (this.label ? this.label(option.name, choice) : choice);
    const input = inputFor(option, value, called, { id, "aria-describedby": `${id}-hint ${id}-problem`, "data-option": option.name });
    input.addEventListener(option.kind === "choice" || option.kind === "bool" ? "change" : "input", () => {
      this.mark(option.name);
      this.change(this.values(), option.name);
    });
    const title = this.label ? [this.label(option.name)] : [make("span", {}, inLanguage(option.title)), " ", make("code", {}, option.name)];
    const element = make("div", { class: `control control-${option.kind}` }, make("label", { for: id }, ...title), input, hint);
    const row = { option, input, hint, problem, below, element };
    this.describe(row);
    return row;
  }

  describe({ option, input, hint, element }) {
    const chosen = option.kind === "choice" ? option.choices[input.value] : null;
    hint.textContent = chosen ? sentences(inLanguage(option.help), say("choice_means", { choice: input.value, meaning: inLanguage(chosen) })) : inLanguage(option.help);
    element.classList.toggle("changed", JSON.stringify(read(option, input)) !== JSON.stringify(option.default));
  }

  mark(name) {
    this.describe(this.rows.get(name));
    this.clear();
  }

  set(name, value) {
    const { option, input } = this.rows.get(name);
    write(option, input, value);
    this.mark(name);
  }

  // Only what differs from the defaults; what cannot be read as a number goes as it is, for core to refuse.
  values() {
    const entries = [...this.rows.values()].map(({ option, input }) => [option, read(option, input)]);
    return Object.fromEntries(entries.filter(([option, value]) => JSON.stringify(value) !== JSON.stringify(option.default)).map(([option, value]) => [option.name, value]));
  }

  clear() {
    for (const { below, input, element } of this.rows.values()) {
      below.hidden = true;
      input.removeAttribute("aria-invalid");
      element.classList.remove("help-above");
    }
  }

  // A sentence beside the control it is about; false if there is no such control here.
  complain(name, sentence) {
    const row = this.rows.get(name);
    if (!row) return false;
    row.problem.textContent = sentence;
    row.below.hidden = false;
    row.input.setAttribute("aria-invalid", "true");
    if (this.folded?.contains(row.element)) this.folded.open = true;
    const top = (one) => one.getBoundingClientRect().top, here = top(row.element);
    for (const { element } of this.rows.values()) element.classList.toggle("help-above", top(element) <= here + 1); // what is below is the sentence
    return true;
  }
}

let made = 0;
const placed = ({ element, below }) => [element, below]; // the sentence has a line of its own below the control's row

function inputFor(option, value, called, attributes) {
  const { kind, low, high, optional, choices } = option;
  if (kind === "choice") {
    const select = make("select", attributes, ...Object.keys(choices).map((name) => make("option", { value: name }, called(name))));
    select.value = value;
    return select;
  }
  if (kind === "bool" && optional) {
    const select = make("select", attributes, ...["", "true", "false"].map((text) => make("option", { value: text }, say({ "": "automatic", true: "on", false: "off" }[text]))));
    select.value = String(value ?? "");
    return select;
  }
  if (kind === "bool") {
    const box = make("input", { ...attributes, type: "checkbox", role: "switch" });
    box.checked = value;
    return box;
  }
  const input = make("input", {
    ...attributes, type: "number", min: low, max: high, step: kind === "int" ? 1 : "any",
    placeholder: optional ? say("automatic") : null, title: low !== null ? say("range", { low, high }) : null,
  });
  input.value = value ?? "";
  return input;
}

function read({ kind, optional }, input) {
  if (kind === "bool" && optional) return input.value === "" ? null : input.value === "true";
  if (kind === "bool") return input.checked;
  if (kind === "choice") return input.value;
  if (input.value === "") return optional && !input.validity.badInput ? null : ""; // letters in a number read as nothing too
  return Number(input.value);
}

function write({ kind, optional }, input, value) {
  if (kind === "bool" && !optional) input.checked = value;
  else input.value = value ?? "";
}
