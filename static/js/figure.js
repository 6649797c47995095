// A picture with what belongs to it: title, caption computed from its data, and the ways to keep it.

import { download, make } from "./dom.js";
import { plate } from "./plate.js";
import { pngOf } from "./svg_files.js";
import { say, sayInto } from "./words.js";

export class Figure {
  // keep: {png, svg, csv} → functions that give a Blob or a text; name() → file name without its end;
  // about() → what the picture is of: run, step, input. A PNG is made from the SVG where there is one.
  constructor(parent, { title = null, keep = {}, name = () => "innerview", className = "", about = () => "" } = {}) {
    this.files = keep;
    this.about = about;
    this.tools = make("div", { class: "figure-tools" });
    this.body = make("div", { class: "figure-body" });
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    const kinds = ["png", "svg", "csv"].filter((kind) => keep[kind] || (kind === "png" && keep.svg));
    this.keep = make("div", { class: "keep" }, ...kinds.map((kind) => make("button", {
      type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }),
      onclick: async () => download(`${name()}.${kind}`, new Blob([await this.file(kind)], { type: MIME[kind] })),
    }, kind.toUpperCase())));
    this.title = make("h3", {}, title ?? "");
    this.element = make("figure", { class: `figure ${className}` },
      make("div", { class: "figure-head" }, title ? this.title : null, this.tools), this.body, this.caption, this.keep);
    parent.append(this.element);
  }

  say(sentence) {
    sayInto(this.caption, sentence);
  }

  // nothing to keep yet, or no longer
  lock(locked) {
    for (const button of this.keep.children) button.disabled = locked;
  }

  async file(kind) {
    if (kind === "csv" || !this.files.svg) return this.files[kind]();
    const framed = plate(await this.files.svg(), { title: this.title.textContent, about: this.about(), caption: this.caption.textContent });
    return kind === "svg" ? framed : pngOf(framed);
  }
}

const MIME = { png: "image/png", svg: "image/svg+xml", csv: "text/csv" };
