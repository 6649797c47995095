// A drawn SVG whose parts can be pointed at and walked with arrow keys; a tip tells what the one in hand is.

import { make } from "./dom.js";
import { svgText } from "./svg_files.js";

export class Walkable {
  // options: className, select(index), step(index, key) → index of the part in that direction
  constructor(parent, { className = "", select = null, step }) {
    Object.assign(this, { select, step, at: null, parts: [] });
    this.svg = make("svg", { class: `walkable ${className}`, role: "img", tabindex: 0 });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "walkable-box" }, this.svg, this.tip);
    parent.append(this.box);
    this.svg.addEventListener("pointermove", (event) => this.point(this.under(event)));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener("click", (event) => { const index = this.under(event); if (index !== null) this.choose(index); });
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("blur", () => this.point(null));
    window.addEventListener("scroll", () => this.place(), { passive: true, capture: true });
  }

  // parts: [{element, words, box: [x, y, width, height]}] in the order in which they are walked
  draw({ width, height, label, shapes, parts }) {
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": label })) this.svg.setAttribute(name, value);
    this.parts = parts;
    parts.forEach(({ element }, index) => element.setAttribute("data-part", index));
    this.ring = make("rect", { class: "walk-ring", fill: "none", rx: 5, visibility: "hidden" });
    this.svg.replaceChildren(...shapes, this.ring);
    this.point(this.at !== null && this.at < parts.length && document.activeElement === this.svg ? this.at : null, true);
  }

  under(event) {
    const found = event.target.closest?.("[data-part]");
    return found ? Number(found.getAttribute("data-part")) : null;
  }

  point(index, again = false) {
    if (index === this.at && !again) return;
    this.at = index;
    const part = this.parts[index];
    this.ring.setAttribute("visibility", part ? "visible" : "hidden");
    this.tip.hidden = !part;
    if (!part) return;
    const [x, y, width, height] = part.box;
    for (const [name, value] of Object.entries({ x, y, width, height })) this.ring.setAttribute(name, value);
    this.tip.textContent = part.words;
    this.place();
  }

  // fixed, so that a row that can be scrolled does not cut it off
  place() {
    const part = this.parts[this.at];
    if (!part) return;
    const { left, top } = this.svg.getBoundingClientRect(), [x, y, , height] = part.box, room = window.innerWidth - this.tip.offsetWidth - 8;
    this.tip.style.left = `${Math.max(4, Math.min(left + x, room))}px`;
    this.tip.style.top = `${top + y + height + 6}px`;
  }

  key(event) {
    const arrow = event.key.startsWith("Arrow");
    if ((!arrow && event.key !== "Enter" && event.key !== " ") || !this.parts.length) return;
    event.preventDefault();
    event.stopPropagation();
    if (!arrow) return this.choose(this.at ?? 0);
    this.point(this.at === null ? 0 : this.step(this.at, event.key));
    this.reveal(this.parts[this.at].box);
    this.place();
  }

  reveal([x, , width]) {
    const view = this.box.parentElement;
    if (x < view.scrollLeft) view.scrollLeft = x - 20;
    else if (x + width > view.scrollLeft + view.clientWidth) view.scrollLeft = x + width - view.clientWidth + 20;
  }

  choose(index) {
    this.select?.(index);
  }

  // without the ring, which belongs to the hand and not to the picture
  svgText() {
    const seen = this.ring.getAttribute("visibility");
    this.ring.setAttribute("visibility", "hidden");
    const text = svgText(this.svg);
    this.ring.setAttribute("visibility", seen);
    return text;
  }
}

export const within = (index, count) => Math.max(0, Math.min(count - 1, index));
export const csvLine = (cells) => cells.map((cell) => (typeof cell === "number" ? cell : `"${String(cell ?? "").replaceAll('"', '""')}"`)).join(",");
