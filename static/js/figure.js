// A picture with what belongs to it: title, caption computed from its data, and the ways to keep it.

import { download, make } from "./dom.js";
import { say, sayInto } from "./words.js";

export class Figure {
  // keep: {png, svg, csv} → functions that give a Blob or a text; name() → file name without its end
  constructor(parent, { title = null, keep = {}, name = () => "innerview", className = "" } = {}) {
    this.tools = make("div", { class: "figure-tools" });
    this.body = make("div", { class: "figure-body" });
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    this.keep = make("div", { class: "keep" }, ...Object.entries(keep).map(([kind, give]) => make("button", {
      type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }),
      onclick: async () => download(`${name()}.${kind}`, new Blob([await give()], { type: MIME[kind] })),
    }, kind.toUpperCase())));
    this.title = make("h3", {}, title ?? "");
    this.element = make("figure", { class: `figure ${className}` },
      make("div", { class: "figure-head" }, title ? this.title : null, this.tools), this.body, this.caption, this.keep);
    parent.append(this.element);
  }

  say(sentence) {
    sayInto(this.caption, sentence);
  }
}

const MIME = { png: "image/png", svg: "image/svg+xml", csv: "text/csv", html: "text/html" };
