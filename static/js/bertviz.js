// BertViz's own head, model and neuron views in a sandboxed frame that can reach nothing else: its scripts draw what arrives
// as messages, which no Gradio component does (app/components/bertviz_view.py).

import { askText } from "./api.js";
import { arraysAt } from "./components.js";
import { make } from "./dom.js";
import { rasterised, save } from "./live/exports.js";
import { onAny, state } from "./store.js";
import { language, loadWords, say } from "./words.js";

const LEAST_ROOM = { head: 340, model: 340, neuron: 960 }, EDGE = 24; // px: of a frame, left and right within it
const LETTERS = 11; // of a token: what fits into BertViz's boxes
const FOLLOWED = ["focus", "group", "layer", "head", "snapshot", "theme"];
const pages = {};

export async function bertViz(element, props, watch) {
  await loadWords();
  const view = new BertViz(element.querySelector(".view"), () => props.value);
  onAny((changed) => changed.some((key) => FOLLOWED.includes(key)) && view.draw());
  watch("value", () => view.draw());
  view.draw();
}

class BertViz {
  constructor(parent, value) {
    this.value = value;
    this.title = make("h3");
    this.holder = make("div", { class: "bertviz-frame" });
    this.keep = make("div", { class: "keep" }, ...["png", "svg", "csv"].map((kind) => make("button", { type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }), onclick: () => this.save(kind) }, kind.toUpperCase())));
    this.element = make("figure", { class: "figure bertviz", hidden: true }, make("div", { class: "figure-head" }, this.title), this.holder, this.keep);
    parent.append(this.element);
    new ResizeObserver(() => this.widened()).observe(this.holder);
    addEventListener("message", (event) => event.source === this.frame?.contentWindow && this.hear(event.data));
  }

  get stack() {
    return this.value()?.stacks?.[state.group];
  }

  // the layers that are drawn: as many as it can, around the chosen one; none: the map stands in its place
  get layers() {
    const fit = this.stack?.layers[state.focus] ?? 0, first = Math.max(0, Math.min(state.layer, this.stack?.points.length - fit));
    return Array.from({ length: fit }, (_, i) => first + i);
  }

  async draw() {
    this.element.hidden = !this.layers.length;
    if (this.element.hidden) return;
    const mine = (this.asked = {}), { focus } = state, value = this.value();
    this.title.textContent = say(`focus.${focus}`);
    await this.open(focus);
    const vectors = focus === "neuron" ? value.vectors : null;
    if (focus === "neuron" && JSON.stringify(vectors?.of) !== JSON.stringify({ attentionOf: state.attentionOf, group: state.group, snapshot: state.snapshot })) return;
    const [{ [`${state.group}.weights`]: weights }, { queries, keys }] = await Promise.all([arraysAt(value.arrays), arraysAt(vectors?.arrays)]);
    if (mine === this.asked && value === this.value()) this.send(weights, queries, keys);
  }

  // the page of a view, loaded once; from then on it only gets messages
  open(view) {
    if (this.opened === view) return this.loaded;
    Object.assign(this, { opened: view, sent: null, frame: null });
    this.holder.replaceChildren();
    this.element.classList.add("loading");
    return (this.loaded = (async () => {
      const page = await (pages[view] ??= askText(`bertviz/${view}/${language}`));
      if (this.opened !== view) return;
      this.frame = make("iframe", { sandbox: "allow-scripts", title: say(`focus.${view}`), style: `min-width: ${LEAST_ROOM[view]}px`, srcdoc: page });
      const ready = new Promise((resolve) => { this.ready = resolve; });
      this.holder.replaceChildren(this.frame);
      await ready;
    })());
  }

  send(weights, queries, keys) {
    const { rows, columns, masked, shape: [, , count] } = this.stack, { layers } = this, short = (tokens) => tokens.map(shortened);
    const one = { name: null, attn: layers.map((layer) => nested(weights.at(state.snapshot, layer))), left_text: short(rows), right_text: short(columns) };
    const shared = { root_div_id: "drawing", display_mode: state.theme, ...this.surroundings() };
    if (state.focus === "neuron") {
      Object.assign(one, { queries: nested(queries), keys: nested(keys) });
      return this.post({ ...shared, attention: { all: one }, default_filter: "all", bidirectional: !masked, layer: state.layer - layers[0], head: state.head });
    }
    this.post({ ...shared, attention: [one], default_filter: "0", layer: state.layer, heads: null, include_layers: layers, include_heads: Array.from({ length: count }, (_, i) => i), total_heads: count });
  }

  // the room there is, and the page's own colours
  surroundings() {
    const [ground, ink, line, soft] = ["--iv-card", "--iv-ink", "--iv-line", "--iv-soft"].map((name) => getComputedStyle(document.body).getPropertyValue(name).trim());
    return { room: Math.max(LEAST_ROOM[state.focus], this.holder.clientWidth) - 2 * EDGE, colours: { ground, ink, line, soft } };
  }

  post(message) {
    this.frame.removeAttribute("data-drawn");
    this.sent = message;
    this.step = this.stack.steps[state.snapshot];
    this.frame.contentWindow.postMessage(message, "*");
  }

  hear(data) {
    if (data.ready) this.ready();
    if (data.key) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: String(data.key), bubbles: true })); // a frame keeps its keys
    if (data.height) this.frame.style.height = `${Math.ceil(data.height)}px`;
    if (data.svg) this.gotSvg?.(data.svg);
    if (!data.drawn) return;
    this.frame.setAttribute("data-drawn", this.step);
    this.element.classList.remove("loading");
  }

  // drawn again for the new room, once it has settled
  widened() {
    clearTimeout(this.timer);
    if (!this.holder.clientWidth) return;
    this.timer = setTimeout(() => {
      if (this.sent && !this.element.hidden && this.surroundings().room !== this.sent.room) this.post({ ...this.sent, ...this.surroundings() });
    }, 200);
  }

  async save(kind) {
    const name = `${this.stack.file}-bertviz-${state.focus}-step${this.step}.${kind}`;
    if (kind === "csv") return save(name, new Blob([this.csv()], { type: "text/csv" }));
    const svg = await new Promise((resolve) => {
      this.gotSvg = resolve;
      this.frame.contentWindow.postMessage({ ask: "svg" }, "*");
    });
    save(name, kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await rasterised(svg));
  }

  csv() {
    const { attn } = state.focus === "neuron" ? this.sent.attention.all : this.sent.attention[0], lines = ["layer,head,query,key,weight"];
    attn.forEach((layer, l) => layer.forEach((head, h) => head.forEach((row, q) => row.forEach((weight, k) => lines.push([this.layers[l], h, q, k, weight].join(","))))));
    return lines.join("\n") + "\n";
  }
}

function shortened(token) {
  const letters = [...token.slice(0, 4 * LETTERS)];
  return letters.length > LETTERS ? `${letters.slice(0, LETTERS - 1).join("")}…` : token;
}

// a tensor as lists within lists, as BertViz takes them
function nested(tensor) {
  if (tensor.shape.length === 1) return Array.from(tensor.data, (value) => value * tensor.unit);
  return Array.from({ length: tensor.shape[0] }, (_, i) => nested(tensor.at(i)));
}
