// The diagram of a model: an SVG that the server makes from its anatomy (app/figures/diagram.py). Here it is folded,
// unfolded and selected, by pointer and keys, faster than an event of Gradio would do it; and kept as a file.

import { askJson, Refusal } from "./api.js";
import { make } from "./dom.js";
import { Latest } from "./latest.js";
import { rasterised, save } from "./live/exports.js";
import { on, set, state } from "./store.js";
import { loadWords, say, sayInto } from "./words.js";

const PATIENCE_MS = 6000; // without a first drawing
const toggled = (list, id) => (list.includes(id) ? list.filter((one) => one !== id) : [...list, id]);

// app/components/diagram_view.py
export async function diagramView(element, props, watch) {
  await loadWords();
  const view = new Diagram(element.querySelector(".view"), props);
  on(["folded", "copies", "part", "language"], () => view.show());
  watch("value", () => view.show());
  view.show();
}

class Diagram {
  constructor(parent, props) {
    this.props = props;
    this.waiting = props.first ? make("p", { class: "caption", role: "status" }, say("build.drawing")) : make("p", { hidden: true });
    this.title = make("h3", {});
    this.body = make("div", { class: "figure-body" });
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    const keep = ["png", "svg", "csv"].map((kind) => make("button", { type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }), onclick: () => this.save(kind) }, kind.toUpperCase()));
    this.element = make("figure", { class: "figure live build-diagram", hidden: true }, make("div", { class: "figure-head" }, this.title), this.body, this.caption, make("div", { class: "keep" }, ...keep));
    parent.append(this.waiting, this.element);
    this.body.addEventListener("click", (event) => this.press(event.target));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("pointerover", ({ target }) => { // what is pointed at folds at once when it is pressed
      const { id, title = id } = target.closest("[aria-expanded], [data-title]")?.dataset ?? {};
      if (title) this.prefetch(this.question({ open: toggled(this.open, title) }));
    });
    this.body.addEventListener("scroll", () => { // two drawings side by side show the same place
      const { scrollLeft, scrollTop } = this.body;
      for (const other of document.querySelectorAll(".build-diagram .figure-body")) if (other !== this.body) Object.assign(other, { scrollLeft, scrollTop });
    }, { passive: true });
    this.latest = new Latest({ ask: (question) => askJson("build/diagram", question), take: (answer, question) => this.draw(answer, question), pause: 0, most: 60 }); // drawings, so that going back is instant
    if (props.first) setTimeout(() => this.ifMissing(), PATIENCE_MS);
  }

  // the server may have died before it drew anything: then that is said
  async ifMissing() {
    if (this.props.value) return;
    try {
      await askJson("runs");
      setTimeout(() => this.ifMissing(), PATIENCE_MS);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.waiting.setAttribute("role", "alert");
      this.waiting.textContent = error.message;
    }
  }

  show() {
    const { value } = this.props;
    this.element.hidden = !value;
    if (!value) return;
    this.waiting.hidden = true;
    this.title.textContent = value.title;
    this.title.parentElement.hidden = !state.build.b;
    if (value !== this.value) {
      this.value = value;
      this.keep({ ...this.question({ open: null }), part: null }, value.drawn);
    }
    if (!this.latest.want(this.question({}))) this.mark();
  }

  question(changes) {
    const { folded: { open, unrolled }, copies, language, part } = state, opened = "open" in changes ? changes.open : open;
    const there = !this.boxes || this.boxes.some(({ dataset }) => dataset.id === part);
    return { ...this.value.question, language, fold: { opened: opened && [...opened].sort(), unrolled, index: copies }, part: there || "open" in changes ? null : part };
  }

  keep = (question, answer) => this.latest.kept.set(JSON.stringify(question), answer);

  // before anybody asks for it
  prefetch(question) {
    const key = JSON.stringify(question);
    if (!this.latest.kept.has(key) && this.latest.asking !== key) this.latest.fetch(question, key);
  }

  draw({ svg, caption, opened }, question) {
    const focused = this.body.contains(document.activeElement);
    this.open = opened;
    if (svg !== this.drawn) {
      this.drawn = svg;
      this.svg = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
      this.body.replaceChildren(this.svg);
      this.boxes = [...this.svg.querySelectorAll(".part")].sort((a, b) => a.dataset.order - b.dataset.order);
      if (focused) this.svg.focus({ preventScroll: true });
      sayInto(this.caption, caption);
    }
    if (question?.part) { // what holds the part that was asked for has been unfolded
      this.keep({ ...question, fold: { ...question.fold, opened: [...opened].sort() }, part: null }, { svg, caption, opened });
      set({ folded: { ...state.folded, open: opened } });
    }
    this.mark();
  }

  mark() {
    for (const box of this.boxes ?? []) {
      box.setAttribute("aria-selected", String(state.build.side === this.props.side && box.dataset.id === state.part));
      box.classList.toggle("differs", this.value.differs.includes(box.dataset.id));
    }
  }

  fold = (id) => set({ folded: { ...state.folded, open: toggled(this.open, id) } });
  select = (part) => set({ part, build: { ...state.build, side: this.props.side } });

  press(target) {
    const { group, index, unroll } = target.dataset;
    if (group) return set({ copies: { ...state.copies, [group]: Number(index) } });
    if (unroll) return set({ folded: { open: this.open, unrolled: toggled(state.folded.unrolled, unroll) } });
    const { id = null, title = id } = target.closest("[data-id], [data-title]")?.dataset ?? {};
    if (!title) return;
    this.svg.focus({ preventScroll: true });
    if (this.boxes.find(({ dataset }) => dataset.id === title).hasAttribute("aria-expanded")) this.fold(title);
    this.select(title);
  }

  key(event) {
    const { key } = event;
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter", " "].includes(key)) return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.boxes.findIndex(({ dataset }) => dataset.id === state.part), here = this.boxes[at];
    if (!here) return this.select(this.boxes[0].dataset.id);
    const { id, parent } = here.dataset, expanded = here.getAttribute("aria-expanded"), enter = key === "Enter" || key === " ";
    if ((key === "ArrowRight" && expanded === "false") || (key === "ArrowLeft" && expanded === "true") || (enter && expanded)) return this.fold(id);
    if (key === "ArrowLeft") return parent && this.select(parent);
    const next = this.boxes[at + (key === "ArrowUp" ? -1 : 1)];
    if (next && !enter) this.select(next.dataset.id);
  }

  async save(kind) {
    const file = await askJson("build/diagram/file", { ...this.question({}), part: null, title: this.value.title, theme: state.theme });
    const made = { csv: () => new Blob([file.csv], { type: "text/csv" }), svg: () => new Blob([file.svg], { type: "image/svg+xml" }), png: () => rasterised(file.svg) };
    save(`innerview-${this.value.question.family}.${kind}`, await made[kind]());
  }
}
