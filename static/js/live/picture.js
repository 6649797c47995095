// A live figure as a part of the page: title, tools, the plot, its caption, and the ways to keep it.

import { make } from "../dom.js";
import { say } from "../words.js";
import { exportsOf, pageOf, save } from "./exports.js";
import { player } from "./page.js";

const ENLARGED = 24; // tokens from which on buttons enlarge a part
const ZOOM = [["+", "zoom_in", 2], ["−", "zoom_out", 0.5], ["⤢", "zoom_all", 0]];

export class Picture {
  // about() → what the picture is of, for its files; keep: which files; name(), csv(figure): in place of the figure's own
  constructor(parent, { className = "", about = () => "", keep = ["png", "svg", "csv", "html"], name = null, csv = null } = {}) {
    Object.assign(this, { about, name, csv });
    this.zoomWhere = make("small", { class: "zoom-where" });
    this.zoomBar = make("div", { class: "zoom", hidden: true, title: say("zoom_hint") }, this.zoomWhere, ...ZOOM.map(([sign, words, times]) => make("button", {
      type: "button", class: "small", title: say(words), "aria-label": say(words), onclick: () => this.figure?.zoom(times) }, sign)));
    this.tools = make("div", { class: "figure-tools" });
    this.plot = make("div", { class: "plot" });
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    this.keep = make("div", { class: "keep" }, ...keep.map((kind) => make("button", {
      type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }), onclick: () => this.save(kind) }, kind.toUpperCase())));
    this.element = make("figure", { class: `figure live ${className}`, hidden: true },
      make("div", { class: "figure-head" }, make("h3", { class: "title" }), this.tools), this.plot, this.caption, this.keep);
    parent.append(this.element);
  }

  // another figure in the same place; null: none
  show(spec, arrays) {
    this.element.hidden = !spec;
    if (!spec) return;
    if (spec.zoom) this.tools.prepend(this.zoomBar);
    this.zoomBar.hidden = !spec.zoom || Math.max(...Object.values(spec.arrows).map(([, count]) => count)) < ENLARGED;
    this.plot.hidden = spec.height === 0; // only words: there is nothing to keep
    for (const button of this.keep.children) button.disabled = spec.height === 0;
    if (this.figure) this.figure.show(spec, arrays);
    else this.figure = player.add(this.element, spec, arrays);
    this.figure.onZoom = (part) => { this.zoomWhere.textContent = part ? say("zoom_where", part) : ""; };
  }

  remove() {
    if (this.figure) player.remove(this.figure);
    this.element.remove();
  }

  async save(kind) {
    await this.figure.drawn;
    if (kind === "html") return save(`${this.name?.() ?? this.figure.fileName}.html`, await pageOf([this.figure], new URL("ours/page.html", document.baseURI)));
    const file = kind === "csv" && this.csv ? new Blob([this.csv(this.figure)]) : await exportsOf(this.figure, this.about)[kind]();
    save(`${this.name?.() ?? this.figure.fileName}.${kind}`, file);
  }
}
