// The Build tab: choose a family and its options, see what it is made of; two configurations side by side.

import { askJson, Refusal } from "./api.js";
import { Costs } from "./build_costs.js";
import { Diagram } from "./build_diagram.js";
import { copyable, everyPart, Panel } from "./build_panel.js";
import { findPart, firstPoint, lineTo } from "./build_parts.js";
import { Controls } from "./controls.js";
import { chips, make } from "./dom.js";
import { Picture } from "./live/picture.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, language, say, sayInto } from "./words.js";

const LONGEST = 64; // tokens in a drawing
const PAUSE_MS = 120; // after the last change of a control
const FIRST = { a: null, b: null, side: "a", open: null, unrolled: [], index: {} };

export async function mountBuild(parent) {
  const offered = await askJson("build");
  state.build = { ...FIRST, ...state.build };
  const view = new Build(parent, offered);
  on(["build"], () => view.update());
  on(["part"], () => view.reveal(state.part));
  on(["look"], () => view.follow());
  on(["partHead"], () => view.panel.drawHeads());
  new ResizeObserver(() => view.missed && view.update()).observe(parent);
}

const chosen = () => state.build;
const whose = (side) => (chosen().b ? `${side.toUpperCase()} · ` : "");
const choose = (changes, more = {}) => set({ build: { ...state.build, ...changes }, ...more });
const key = (choice) => JSON.stringify(choice && [choice.family, Object.entries(choice.options).sort()]);

class Build {
  constructor(parent, offered) {
    Object.assign(this, { parent, families: new Map(offered.families.map((one) => [one.name, one])), presets: offered.presets, plans: {}, asked: {}, runs: new Map(), differs: new Set() });
    this.familyRow = make("div", { class: "chips build-families" });
    this.presetRow = make("div", { class: "chips build-presets" });
    this.sides = make("div", { class: "chips build-sides" });
    this.compare = make("button", { type: "button", class: "small", onclick: () => choose(chosen().b ? { b: null, side: "a" } : { b: { ...chosen().a }, side: "b" }) });
    this.whose = make("p", { class: "build-whose" });
    this.back = make("button", { type: "button", class: "small", onclick: () => this.choice(this.ofRun) }, say("build.back_to_run"));
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.differences = make("div", { class: "build-differences", hidden: true });
    const column = make("div", { class: "build-column" });
    this.controls = new Controls(column, (values) => {
      this.choice({ family: this.now().family, options: values });
      this.ask(chosen().side); // what is typed may come to the same and be refused as before
    });
    const pictures = make("div", { class: "build-pictures" });
    const head = make("div", { class: "build-head" }, this.whose, this.back, ...this.folders(), this.compare, this.sides);
    this.middle = make("div", { class: "build-middle" }, this.differences, pictures);
    const side = make("div", { class: "build-side" }), below = make("div", { class: "build-below" });
    parent.append(this.familyRow, this.presetRow, column, head, this.problem, make("div", { class: "build-grid" }, this.middle, side), below);
    const diagram = (of) => new Diagram(pictures, { onPart: (part) => choose({ side: of }, { part }), onFold: (fold) => choose(fold) });
    this.diagrams = { a: diagram("a"), b: diagram("b") };
    moveTogether(this.diagrams.a.body, this.diagrams.b.body);
    this.code = make("div", {});
    side.append(this.code);
    this.panel = new Panel(side, (part) => this.reveal(part));
    this.treemap = new Picture(below, { className: "build-treemap" });
    this.notes = make("ul", { class: "build-notes" });
    this.treemap.caption.after(this.notes);
    this.costs = new Costs(below);
  }

  folders() {
    const all = { "build.unfold_all": () => everyPart(this.plans[chosen().side].root).filter(({ rows }) => rows.length).map(({ id }) => id), "build.fold_all": () => [] };
    return Object.entries(all).map(([words, open]) => make("button", { type: "button", class: "small", onclick: () => choose({ open: open() }),
      onpointerenter: () => this.plans[chosen().side] && this.diagrams[chosen().side].prefetch({ ...chosen(), open: open() }) }, say(words)));
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
    choose({ side, [side]: { family, options }, ...(same ? {} : { open: null, index: {}, unrolled: [] }) }, same ? {} : { part: null });
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
    if (!choice) return void (delete this.plans[side], delete this.asked[side]);
    const question = { ...choice, ...this.lengths() }, asked = JSON.stringify(question);
    if (this.asked[side] === asked) return this.refused?.asked === asked && this.complain(this.refused.error); // said again: typing hid it
    this.asked[side] = asked;
    this.refused = null;
    this.middle.classList.add("waiting");
    try {
      if (this.plans[side]) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (this.asked[side] !== asked) return;
      const { open: opened, unrolled, index } = chosen();
      const plan = await askJson("build/plan", { ...question, language, fold: { opened, unrolled, index } });
      if (this.asked[side] !== asked) return;
      this.plans[side] = Object.assign(plan, { question });
      this.diagrams[side].keep(plan, { open: opened ?? plan.diagram.opened, unrolled, index });
      this.problem.hidden = true;
      this.controls.clear();
      if (!opened) return choose({ open: plan.diagram.opened });
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
    const own = this.ofRun && key(this.now()) === key(this.ofRun), preset = this.presetOf(family), run = shown.runs.find(({ name }) => name === state.run);
    this.whose.textContent = own ? say("build.is_run", { title: inLanguage(run.title) }) : preset ? say("build.is_preset", { name: preset }) : say("build.is_own");
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

  draw() {
    const { b, side: current, open } = chosen(), comparing = Boolean(b && this.plans.a && this.plans.b);
    this.parent.classList.toggle("comparing", Boolean(b));
    this.diagrams.b.element.hidden = !(b && this.plans.b);
    if (!comparing) this.differs.clear();
    for (const [side, plan] of Object.entries(this.plans)) {
      if (open) this.diagrams[side].show(plan, chosen(), { title: whose(side) + (plan.preset ?? plan.family), part: side === current ? state.part : null, differs: this.differs });
    }
    this.drawDifferences(comparing);
    const plan = this.plans[current];
    if (!plan) return;
    set({ compared: b ? 1 + (current === "b") : 0 });
    if (plan !== this.drawn) {
      this.drawn = plan;
      this.code.replaceChildren(copyable(plan.python));
      this.treemap.show(plan.figures.treemap, {});
      this.notes.replaceChildren(...plan.notes.map(() => make("li", {})));
      plan.notes.forEach((note, i) => sayInto(this.notes.children[i], inLanguage(note)));
    }
    this.costs.show(plan, whose(current));
    const part = (state.part && findPart(plan.root, state.part, chosen().index)) || findPart(plan.root, firstPoint(plan.root), chosen().index);
    this.panel.show(part, plan, whose(current));
  }

  // A table of what differs, and the parts marked in both drawings.
  async drawDifferences(comparing) {
    this.differences.hidden = !comparing;
    const [first, second] = [this.plans.a, this.plans.b];
    if (!comparing || (this.compared?.[0] === first && this.compared[1] === second)) return;
    this.compared = [first, second];
    const asked = this.compared, { rows, caption, differs } = await askJson("build/compare", { first: first.question, second: second.question });
    if (asked !== this.compared) return;
    const text = (cell) => (typeof cell === "string" ? cell : inLanguage(cell));
    this.differences.replaceChildren(make("table", { class: "build-weights" }, make("tr", {}, ...["", "A", "B"].map((head) => make("th", {}, head))),
      ...rows.map((cells) => make("tr", { class: text(cells[1]) === text(cells[2]) ? "" : "differs" }, ...cells.map((cell) => make("td", {}, text(cell)))))), make("p", {}, inLanguage(caption)));
    this.differs = new Set(differs);
    this.draw();
  }

  // Unfolds whatever hides a part, and selects it; a tap of a folded group chooses its number too.
  reveal(id) {
    const plan = this.plans[chosen().side], index = { ...chosen().index }, line = id && plan && lineTo(plan.root, id, index);
    if (!line) return this.update();
    const open = [...new Set([...(chosen().open ?? []), ...line.slice(1, -1).map((part) => part.id)])];
    if (open.length === chosen().open?.length && state.part === line.at(-1).id) return this.update();
    choose({ open, index }, { part: line.at(-1).id });
  }

}

// Two drawings side by side show the same place.
function moveTogether(...bodies) {
  const follow = ({ target: one }) => bodies.filter((other) => other !== one).forEach((other) => Object.assign(other, { scrollLeft: one.scrollLeft, scrollTop: one.scrollTop }));
  bodies.forEach((one) => one.addEventListener("scroll", follow, { passive: true }));
}
