// The diagram of a model: an SVG that the server makes from its anatomy (app/figures/diagram.py). Here it is folded,
// unfolded and selected, by pointer and keys.

import { askJson } from "./api.js";
import { make } from "./dom.js";
import { Latest } from "./latest.js";
import { rasterised, save } from "./live/exports.js";
import { state } from "./store.js";
import { language, say, sayInto } from "./words.js";

export class Diagram {
  // onPart(id), onFold({open} | {unrolled} | {index}): what was chosen
  constructor(parent, options) {
    this.options = options;
    this.title = make("h3", {});
    this.body = make("div", { class: "figure-body" });
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    const keep = ["png", "svg", "csv"].map((kind) => make("button", { type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }), onclick: () => this.save(kind) }, kind.toUpperCase()));
    this.element = make("figure", { class: "figure live build-diagram" }, make("div", { class: "figure-head" }, this.title), this.body, this.caption, make("div", { class: "keep" }, ...keep));
    parent.append(this.element);
    this.body.addEventListener("click", (event) => this.press(event.target));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("pointerover", ({ target }) => { // what is pointed at folds at once when it is pressed
      const { id, title = id } = target.closest("[aria-expanded], [data-title]")?.dataset ?? {};
      if (title) this.prefetch({ ...this.fold, open: toggled(this.fold.open, title) });
    });
    this.latest = new Latest({ ask: (question) => askJson("build/diagram", question), take: (answer) => this.draw(answer), pause: 0, most: 60 }); // drawings, so that going back is instant
  }

  // plan, with the question it answers; fold: {open, unrolled, index}; differs: ids that differ from the other configuration
  show(plan, fold, { title, part, differs }) {
    Object.assign(this, { plan, fold, part, differs });
    this.title.textContent = title;
    if (!this.latest.want(this.question(fold))) this.mark();
  }

  question({ open, unrolled, index }) {
    return { ...this.plan.question, language, fold: { opened: [...open].sort(), unrolled, index } };
  }

  // a drawing that came with the plan
  keep(plan, fold) {
    this.plan = plan;
    this.latest.kept.set(JSON.stringify(this.question(fold)), plan.diagram);
  }

  // before anybody asks for it
  prefetch(fold) {
    const question = this.question(fold), key = JSON.stringify(question);
    if (!this.latest.kept.has(key) && this.latest.asking !== key) this.latest.fetch(question, key);
  }

  draw({ svg, caption }) {
    const focused = this.body.contains(document.activeElement);
    if (svg !== this.drawn) {
      this.drawn = svg;
      this.svg = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
      this.body.replaceChildren(this.svg);
      this.boxes = [...this.svg.querySelectorAll(".part")].sort((a, b) => a.dataset.order - b.dataset.order);
      if (focused) this.svg.focus({ preventScroll: true });
      sayInto(this.caption, caption);
    }
    this.mark();
  }

  mark() {
    for (const box of this.boxes ?? []) {
      box.setAttribute("aria-selected", String(box.dataset.id === this.part));
      box.classList.toggle("differs", this.differs.has(box.dataset.id));
    }
  }

  press(target) {
    const { group, index, unroll } = target.dataset, { onFold, onPart } = this.options;
    if (group) return onFold({ index: { ...this.fold.index, [group]: Number(index) } });
    if (unroll) return onFold({ unrolled: toggled(this.fold.unrolled, unroll) });
    const { id = null, title = id } = target.closest("[data-id], [data-title]")?.dataset ?? {};
    if (!title) return;
    this.svg.focus({ preventScroll: true });
    if (this.boxes.find(({ dataset }) => dataset.id === title).hasAttribute("aria-expanded")) onFold({ open: toggled(this.fold.open, title) });
    onPart(title);
  }

  key(event) {
    const { key } = event, { onFold, onPart } = this.options;
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter", " "].includes(key)) return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.boxes.findIndex(({ dataset }) => dataset.id === this.part), here = this.boxes[at];
    if (!here) return onPart(this.boxes[0].dataset.id);
    const { id, parent } = here.dataset, expanded = here.getAttribute("aria-expanded"), enter = key === "Enter" || key === " ";
    if ((key === "ArrowRight" && expanded === "false") || (key === "ArrowLeft" && expanded === "true") || (enter && expanded)) return onFold({ open: toggled(this.fold.open, id) });
    if (key === "ArrowLeft") return parent && onPart(parent);
    const next = this.boxes[at + (key === "ArrowUp" ? -1 : 1)];
    if (next && !enter) onPart(next.dataset.id);
  }

  async save(kind) {
    const file = await askJson("build/diagram/file", { ...this.question(this.fold), title: this.title.textContent, theme: state.theme });
    const made = { csv: () => new Blob([file.csv], { type: "text/csv" }), svg: () => new Blob([file.svg], { type: "image/svg+xml" }), png: () => rasterised(file.svg) };
    save(`innerview-${this.plan.family}.${kind}`, await made[kind]());
  }
}

const toggled = (list, id) => (list.includes(id) ? list.filter((one) => one !== id) : [...list, id]);
