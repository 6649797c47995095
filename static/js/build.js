// The Build tab: choose a family and its options, see what it is made of; two configurations side by side.

import { askJson, Refusal } from "./api.js";
import { Costs, LayerTable } from "./build_costs.js";
import { Diagram } from "./build_diagram.js";
import { copyable, findPart, Panel } from "./build_panel.js";
import { Treemap } from "./build_treemap.js";
import { Controls } from "./controls.js";
import { chips, make } from "./dom.js";
import { exact, NONE } from "./numbers.js";
import { on, set, shown, state } from "./store.js";
import { format, inLanguage, say } from "./words.js";

const LONGEST = 64; // tokens in a drawing
const PAUSE_MS = 120; // after the last change of a control
const FIRST = { a: null, b: null, side: "a", open: null, unrolled: [], index: {}, node: null };

export async function mountBuild(parent) {
  const offered = await askJson("build");
  state.build = { ...FIRST, ...state.build };
  const view = new Build(parent, offered);
  on(["build"], () => view.update());
  on(["look"], () => view.follow());
  on(["snapshot"], () => view.panel.draw());
  on(["theme"], () => view.draw());
  new ResizeObserver(() => view.missed && view.update()).observe(parent);
}

const chosen = () => state.build;
const whose = (side) => (chosen().b ? `${side.toUpperCase()} · ` : "");
const choose = (changes) => set({ build: { ...state.build, ...changes } });
const key = (choice) => JSON.stringify(choice && [choice.family, Object.entries(choice.options).sort()]);

class Build {
  constructor(parent, offered) {
    Object.assign(this, { parent, families: new Map(offered.families.map((one) => [one.name, one])), presets: offered.presets, plans: {}, asked: {}, runs: new Map() });
    this.familyRow = make("div", { class: "chips build-families" });
    this.presetRow = make("div", { class: "chips build-presets" });
    this.sides = make("div", { class: "chips build-sides" });
    this.compare = make("button", { type: "button", class: "small", onclick: () => this.toggleCompare() });
    this.whose = make("p", { class: "build-whose" });
    this.back = make("button", { type: "button", class: "small", onclick: () => this.choice(this.ofRun) }, say("build.back_to_run"));
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.differences = make("div", { class: "build-differences", hidden: true });
    const column = make("div", { class: "build-column" });
    this.controls = new Controls(column, (values) => {
      this.choice({ family: this.now().family, options: values });
      this.ask(chosen().side); // what is typed may come to the same and be refused as before
    });
    this.pictures = make("div", { class: "build-pictures" });
    const head = make("div", { class: "build-head" }, this.whose, this.back, ...this.folders(() => chosen().side), this.compare, this.sides);
    this.middle = make("div", { class: "build-middle" }, this.differences, this.pictures);
    this.side = make("div", { class: "build-side" });
    this.below = make("div", { class: "build-below" });
    parent.append(this.familyRow, this.presetRow, column, head, this.problem, make("div", { class: "build-grid" }, this.middle, this.side), this.below);
    const options = (side) => ({
      onSelect: (node) => choose({ node, side }), onOpen: (open) => choose({ open }), onUnroll: (unrolled) => choose({ unrolled }),
      onIndex: (id, index) => choose({ index: { ...chosen().index, [id]: index } }),
    });
    this.diagrams = { a: new Diagram(this.pictures, options("a")), b: new Diagram(this.pictures, options("b")) };
    moveTogether(this.diagrams.a.figure.body, this.diagrams.b.figure.body);
    this.code = make("div", {});
    this.panel = new Panel(this.side, { question: () => this.question(), select: (path) => this.reveal(path) });
    this.side.prepend(this.code);
    this.treemap = new Treemap(this.below, { select: (id) => this.reveal(id) });
    this.costs = new Costs(this.below);
    this.layers = new LayerTable(this.below);
  }

  folders(side) {
    const button = (word, act) => make("button", { type: "button", class: "small", onclick: act }, say(word));
    return [button("build.unfold_all", () => choose({ open: folding(this.plans[side()].root).map(({ id }) => id) })), button("build.fold_all", () => choose({ open: [] }))];
  }

  now = () => chosen()[chosen().side] ?? chosen().a;
  lengths = () => {
    const { source = [], given = [] } = shown.look?.axes ?? {}, within = (n, other) => Math.max(1, Math.min(LONGEST, n || other));
    return { time: within(source.length, 12), target_time: within(given.length, 8) };
  };

  // Another run or input: its lengths; and, unless somebody has begun to build, its model.
  async follow() {
    if (!shown.look || !state.run) return;
    if (!this.runs.has(state.run)) this.runs.set(state.run, await askJson(`build/of/${encodeURIComponent(state.run)}`));
    const before = this.ofRun;
    this.ofRun = this.runs.get(state.run);
    if (!chosen().a || (before && key(chosen().a) === key(before) && key(before) !== key(this.ofRun))) this.choice(this.ofRun, "a");
    else this.update();
  }

  choice({ family, options }, side = chosen().side) {
    const same = chosen()[side]?.family === family;
    choose({ side, [side]: { family, options }, ...(same ? {} : { open: null, node: null, index: {}, unrolled: [] }) });
  }

  toggleCompare() {
    if (chosen().b) choose({ b: null, side: "a" });
    else choose({ b: { ...chosen().a }, side: "b" });
  }

  update() {
    this.missed = !this.parent.clientWidth;
    if (this.missed || !chosen().a || !shown.look) return;
    this.showChoices();
    for (const side of ["a", "b"]) this.ask(side);
    this.draw();
  }

  async ask(side) {
    const choice = chosen()[side];
    if (!choice) {
      delete this.plans[side];
      delete this.asked[side];
      return;
    }
    const question = { ...choice, ...this.lengths() }, asked = JSON.stringify(question);
    if (this.asked[side] === asked) return this.refused?.asked === asked && this.complain(this.refused.error); // said again: typing hid it
    this.asked[side] = asked;
    this.refused = null;
    this.middle.classList.add("waiting");
    try {
      if (this.plans[side]) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (this.asked[side] !== asked) return;
      const plan = await askJson("build/plan", question);
      if (this.asked[side] !== asked) return;
      this.plans[side] = plan;
      this.problem.hidden = true;
      this.controls.clear();
      if (!chosen().open) return choose({ open: firstOpen(plan.root) });
      this.draw();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.asked[side] !== asked) return;
      this.refused = { asked, error };
      this.complain(error);
    } finally {
      if (this.asked[side] === asked) this.middle.classList.remove("waiting");
    }
  }

  // Beside the control it is about; the drawing stays that of the last configuration that could be.
  complain({ option, message }) {
    const sentence = `${message} ${say("build.still")}`;
    if (this.controls.complain(option, sentence)) return;
    this.problem.textContent = sentence;
    this.problem.hidden = false;
  }

  showChoices() {
    const { family } = this.now(), { side, b } = chosen();
    chips(this.familyRow, [...this.families.values()].map(({ name, help }) => ({ value: name, text: name, title: inLanguage(help) })), family,
      (value) => this.choice({ family: value, options: {} }), say("build.families"));
    this.showPresets(family);
    chips(this.sides, ["a", "b"].map((value) => ({ value, text: value.toUpperCase() })), side, (value) => choose({ side: value }), say("build.sides"));
    this.sides.hidden = !b;
    this.compare.textContent = say(b ? "build.compare_end" : "build.compare");
    const own = this.ofRun && key(this.now()) === key(this.ofRun);
    const preset = this.presetOf(family);
    this.whose.textContent = own ? say("build.is_run", { title: this.titleOf() }) : preset ? say("build.is_preset", { name: preset }) : say("build.is_own");
    this.back.hidden = own || !this.ofRun;
    const showing = JSON.stringify([side, this.now()]);
    if (showing === this.controlling) return;
    this.controlling = showing;
    if (JSON.stringify([side, family]) !== this.controlled || key({ family, options: this.controls.values() }) !== key(this.now())) {
      const { options, main } = this.families.get(family);
      this.controls.show(options, this.now().options, main);
    }
    this.controlled = JSON.stringify([side, family]);
  }

  presetOf = (family) => this.presets.find((one) => one.family === family && key(one) === key(this.now()))?.name;

  // The ready-made sizes of the chosen family; a family without any shows no row.
  showPresets(family) {
    const presets = this.presets.filter((one) => one.family === family), chosen = this.presetOf(family);
    this.presetRow.hidden = !presets.length;
    if (!presets.length) return;
    chips(this.presetRow, presets.map(({ name, help }) => ({ value: name, text: name, title: inLanguage(help) })), chosen,
      (value) => this.choice({ family, options: presets.find(({ name }) => name === value).options }), say("build.presets"));
    if (!chosen) this.presetRow.firstChild.tabIndex = 0;
    this.presetRow.prepend(make("small", {}, say("build.presets")));
  }

  titleOf = () => inLanguage(shown.runs.find(({ name }) => name === state.run).title);

  draw() {
    const { b } = chosen(), { a: first, b: second } = this.plans, marks = b && second && first ? differing(first, second) : new Set();
    this.parent.classList.toggle("comparing", Boolean(b));
    this.diagrams.b.figure.element.hidden = !(b && second);
    for (const [side, plan] of Object.entries(this.plans)) {
      if (!chosen().open) continue;
      const diagram = this.diagrams[side];
      diagram.figure.title.textContent = `${whose(side)}${plan.preset ?? plan.family}`;
      diagram.show(plan, { ...chosen(), node: side === chosen().side ? chosen().node : null }, marks);
      diagram.figure.say(say(plan.target_time ? "build.caption_pair" : "build.caption", { n: plan.parameters, time: plan.time, target_time: plan.target_time }));
    }
    this.drawDifferences(first, b && second);
    const plan = this.plans[chosen().side];
    if (!plan) return;
    const mine = whose(chosen().side);
    this.code.replaceChildren(copyable(plan.python));
    this.treemap.show(plan, mine);
    this.costs.show(plan, mine);
    const part = (chosen().node && findPart(plan.root, chosen().node, chosen().index)) || findPart(plan.root, firstPoint(plan.root), chosen().index);
    this.panel.show(part, plan, mine);
  }

  drawDifferences(first, second) {
    this.differences.hidden = !second;
    if (!second) return;
    const names = [...new Set([...this.families.get(first.family).options, ...this.families.get(second.family).options].map(({ name }) => name))];
    const value = (plan, name) => {
      const option = this.families.get(plan.family).options.find((one) => one.name === name);
      const found = plan.options[name] ?? option?.default ?? null;
      return !option ? NONE : found === null ? say("automatic") : typeof found === "number" ? exact(found) : typeof found === "boolean" ? say(found ? "on" : "off") : found;
    };
    const rows = names.map((name) => [this.titleOfOption(name), value(first, name), value(second, name)]).filter(([, a, b]) => a !== b);
    if (first.family !== second.family) rows.unshift([say("build.family"), first.family, second.family]);
    rows.push([say("build.total"), format(first.parameters, ","), format(second.parameters, ",")]);
    this.differences.replaceChildren(make("table", { class: "build-weights" }, make("tr", {}, ...["", "A", "B"].map((text) => make("th", {}, text))),
      ...rows.map((cells) => make("tr", { class: cells[1] === cells[2] ? "" : "differs" }, ...cells.map((text) => make("td", {}, text))))),
    rows.length === 1 ? make("p", {}, say("build.no_difference")) : make("p", {}, say("build.ratio", { ratio: second.parameters / first.parameters })));
  }

  titleOfOption(name) {
    const options = [...this.families.values()].flatMap((one) => one.options);
    const title = inLanguage(options.find((one) => one.name === name).title);
    return title === name ? name : `${title} (${name})`;
  }

  // Unfolds whatever hides a part, and selects it; a tap of a folded group chooses its number too.
  reveal(id) {
    const plan = this.plans[chosen().side], index = { ...chosen().index };
    const line = lineTo(plan.root, id, index);
    if (!line) return;
    choose({ open: [...new Set([...chosen().open, ...line.slice(0, -1).map((part) => part.id)])], node: line.at(-1).id, index });
  }

  question() {
    const { time, target_time } = this.plans[chosen().side], { family, options } = this.plans[chosen().side];
    return { family, options, time, target_time: target_time ?? 8, run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null };
  }
}

// Two drawings side by side show the same place.
function moveTogether(...bodies) {
  for (const one of bodies) {
    one.addEventListener("scroll", () => {
      for (const other of bodies) if (other !== one) [other.scrollLeft, other.scrollTop] = [one.scrollLeft, one.scrollTop];
    }, { passive: true });
  }
}

const folding = (part) => [...(part.rows.length ? [part] : []), ...part.rows.flat().flatMap(folding)];
const firstOpen = (root) => root.rows.flat().filter((part) => part.rows.length && part.path !== "head").map(({ id }) => id);

function firstPoint(root) {
  const points = [];
  const visit = (part) => { if (part.kind === "point") points.push(part.id); part.rows.flat().forEach(visit); };
  visit(root);
  return points.find((id) => id.endsWith("weights")) ?? points.find((id) => id.endsWith("hidden")) ?? points[0];
}

// The parts from the root to one, by id or by the path of a tap in any copy of a folded group.
function lineTo(part, id, index) {
  if (part.id === id) return [part];
  for (const inner of part.rows.flat()) {
    const line = lineTo(inner, id, index);
    if (line) return [part, ...line];
  }
  if (part.times > 1) {
    const cut = part.path.split("."), at = cut.findLastIndex((name) => /^\d+$/.test(name)), asked = id.split(".");
    const by = Number(asked[at]) - Number(cut[at]);
    if (by > 0 && by < part.times && cut.every((name, i) => i === at || name === asked[i])) {
      asked[at] = cut[at];
      const line = lineTo({ ...part, times: 1 }, asked.join("."), index);
      if (line) index[part.id] = by;
      return line;
    }
  }
  return null;
}

// ids of the parts that only one of two plans has, or that differ in kind, shape, size or number.
function differing(first, second) {
  const [a, b] = [first, second].map(({ root }) => new Map(folded(root).map((part) => [part.id, JSON.stringify([part.module, part.facts, part.shape, part.count, part.times])])));
  return new Set([...a.keys(), ...b.keys()].filter((id) => id !== "()" && a.get(id) !== b.get(id)));
}
const folded = (part) => [part, ...part.rows.flat().flatMap(folded)];
