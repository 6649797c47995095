// BertViz's own head, model and neuron views of the tensors on this page, in a frame that can reach nothing else.

import { askArrays, askText } from "./api.js";
import { axes, heads, isBertViz, momentWords, pointOf, question, step, weights } from "./current.js";
import { make } from "./dom.js";
import { Latest } from "./latest.js";
import { rasterised, save } from "./live/exports.js";
import { sentences } from "./sentences.js";
import { shown, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { language, say, sayInto } from "./words.js";

const MOST_LINES = 60000; // BertViz draws about 23,000 lines a second
const MOST_SENT = 5 * MOST_LINES; // weights handed over, of which the head view draws one layer
const LEAST_ROOM = { head: 340, model: 340, neuron: 960 }, EDGE = 24; // px: of a frame, left and right within it
const LETTERS = 11; // of a token: what fits into BertViz's boxes

export class BertViz {
  constructor(parent) {
    this.title = make("h3");
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    this.keep = make("div", { class: "keep" }, ...["png", "svg", "csv"].map((kind) => make("button", {
      type: "button", class: "small", title: say("keep", { kind: kind.toUpperCase() }), onclick: () => this.save(kind) }, kind.toUpperCase())));
    this.status = make("p", { class: "nothing", hidden: true });
    this.holder = make("div", { class: "bertviz-frame" });
    parent.append(make("figure", { class: "figure bertviz" }, make("div", { class: "figure-head" }, this.title), this.status, this.holder, this.caption, this.keep));
    this.pages = {};
    this.vectors = new Latest({ ask: (body) => askArrays("vectors", body), take: (answer) => this.send(answer), refuse: (sentence) => this.say(sentence) });
    new ResizeObserver(() => this.widened()).observe(this.holder);
    addEventListener("message", (event) => event.source === this.frame?.contentWindow && this.hear(event.data));
  }

  async draw() {
    const view = state.focus, [, layers, count, rows, columns] = heads().shape;
    this.title.textContent = say(`focus.${view}`);
    this.vectors.forget();
    const perLayer = count * rows * columns, lines = view === "neuron" ? 8 * rows * columns + (rows + 2 * columns) * 64 : perLayer;
    if (lines > MOST_LINES) {
      const drawn = view === "model" ? perLayer * layers : lines;
      return this.say(say(view === "neuron" ? "bertviz_large_neuron" : "bertviz_large", { lines: drawn, most: MOST_LINES }));
    }
    const fit = Math.max(1, Math.min(layers, Math.floor((view === "model" ? MOST_LINES : MOST_SENT) / perLayer)));
    const first = Math.max(0, Math.min(state.layer, layers - fit));
    this.layers = Array.from({ length: fit }, (_, i) => first + i);
    await this.open(view);
    if (state.focus !== view) return;
    if (view === "neuron") this.vectors.want({ ...question(), points: this.layers.map(pointOf) });
    else this.send(null);
  }

  // the page of a view, loaded once; from then on it only gets messages
  open(view) {
    if (this.opened === view) return this.loaded;
    this.opened = view;
    this.sent = null;
    this.say(say("bertviz_loading"));
    this.loaded = (async () => {
      const page = (this.pages[view] ??= await askText(`bertviz/${view}/${language}`));
      if (this.opened !== view) return;
      this.frame = make("iframe", { sandbox: "allow-scripts", title: say(`focus.${view}`), style: `min-width: ${LEAST_ROOM[view]}px`, srcdoc: page });
      const ready = new Promise((resolve) => { this.ready = resolve; });
      this.holder.replaceChildren(this.frame);
      await ready;
    })();
    return this.loaded;
  }

  send(vectors) {
    const { rows, columns } = axes(), values = weights(), { layers } = this;
    const one = {
      name: null, attn: layers.map((layer) => nested(values.at(state.snapshot, layer))),
      left_text: rows.map((token) => shortened(token, LETTERS)), right_text: columns.map((token) => shortened(token, LETTERS)),
    };
    const shared = { root_div_id: "drawing", display_mode: state.theme, ...this.surroundings() };
    const [, all, count] = heads().shape, within = state.layer - layers[0];
    if (state.focus === "neuron") {
      one.queries = nested(vectors.arrays.queries);
      one.keys = nested(vectors.arrays.keys);
      this.post({ ...shared, attention: { all: one }, default_filter: "all", bidirectional: !heads().masked, layer: within, head: state.head });
    } else {
      this.post({ ...shared, attention: [one], default_filter: "0", layer: state.layer, heads: null, include_layers: layers,
        include_heads: Array.from({ length: count }, (_, i) => i), total_heads: count });
    }
    const words = { moment: momentWords(), layer: state.layer, heads: say(count === 1 ? "one_head_each" : "heads_each", { n: count }),
      which: say(layers.length === 1 ? "layers_one" : layers.length === all ? "layers_all" : "layers_some", { first: layers[0], last: layers.at(-1), layers: all }) };
    const said = [say(`bertviz_caption.${state.focus}`, words)];
    if (vectors && Math.abs(vectors.scale * Math.sqrt(vectors.arrays.keys.shape.at(-1)) - 1) > 1e-6) said.push(say("bertviz_scale"));
    if (vectors && ["alibi", "t5"].includes(shown.story.shape.position)) said.push(say("bertviz_bias"));
    sayInto(this.caption, sentences(...said));
  }

  // the room there is, and the page's own colours
  surroundings() {
    const [ground, ink, line, soft] = ["--iv-card", "--iv-ink", "--iv-line", "--iv-soft"].map((name) => getComputedStyle(document.body).getPropertyValue(name).trim());
    return { room: Math.max(LEAST_ROOM[state.focus], this.holder.clientWidth) - 2 * EDGE, colours: { ground, ink, line, soft } };
  }

  post(message) {
    this.frame.removeAttribute("data-drawn");
    this.sent = message;
    this.frame.contentWindow.postMessage(message, "*");
  }

  hear(data) {
    if (data.ready) this.ready();
    if (data.key) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: String(data.key), bubbles: true })); // a frame keeps its keys
    if (data.height) this.frame.style.height = `${Math.ceil(data.height)}px`;
    if (data.svg) this.gotSvg?.(data.svg);
    if (data.drawn) {
      this.frame.setAttribute("data-drawn", step());
      this.say(null);
    }
  }

  // drawn again for the new room, once it has settled
  widened() {
    clearTimeout(this.timer);
    if (!this.holder.clientWidth) return;
    this.timer = setTimeout(() => {
      if (this.sent && isBertViz() && this.surroundings().room !== this.sent.room) this.post({ ...this.sent, ...this.surroundings() });
    }, 200);
  }

  // a sentence in place of the frame; null: the frame
  say(sentence) {
    this.status.hidden = sentence === null;
    this.status.textContent = sentence ?? "";
    this.holder.hidden = this.keep.hidden = this.caption.hidden = sentence !== null;
  }

  async save(kind) {
    const name = `${state.run}-${state.group}-bertviz-${state.focus}-step${step()}.${kind}`;
    if (kind === "csv") return save(name, new Blob([this.csv()], { type: "text/csv" }));
    const svg = await this.svg();
    save(name, kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await rasterised(svg));
  }

  svg() {
    return new Promise((resolve) => {
      this.gotSvg = resolve;
      this.frame.contentWindow.postMessage({ ask: "svg" }, "*");
    });
  }

  csv() {
    const { attn } = state.focus === "neuron" ? this.sent.attention.all : this.sent.attention[0], lines = ["layer,head,query,key,weight"];
    attn.forEach((layer, l) => layer.forEach((head, h) => head.forEach((row, q) => row.forEach((weight, k) => lines.push([this.layers[l], h, q, k, weight].join(","))))));
    return lines.join("\n") + "\n";
  }
}

// a tensor as lists within lists, as BertViz takes them
function nested(tensor) {
  if (tensor.shape.length === 1) return Array.from(tensor.data, (value) => value * tensor.unit);
  return Array.from({ length: tensor.shape[0] }, (_, i) => nested(tensor.at(i)));
}
