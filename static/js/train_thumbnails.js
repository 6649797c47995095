// What a model's heads look at, or how its gates stand, on one held-out problem while it learns: small pictures of it all.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { tint } from "./lines.js";
import { fixed } from "./numbers.js";
import { pngOf } from "./svg_files.js";
import { FONT } from "./train_scene.js";
import { format, has, say } from "./words.js";

const SIGNED = ["hidden", "cell", "candidate"];

export class Thumbnails {
  constructor(parent) {
    const keep = { png: () => pngOf(this.svg()), svg: () => this.svg(), csv: () => this.csv() };
    this.figure = new Figure(parent, { title: say("train.inside"), className: "train-thumbs", name: () => `innerview-inside-${this.sight?.key}`, keep });
    this.row = make("div", { class: "thumbs" });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.figure.body.append(this.row, this.tip);
    this.shown = new Map();
  }

  draw(sight) {
    this.sight = sight;
    const pictures = sight ? [...sight.heads.map(headPicture), ...sight.gates.map((gate) => gatePicture(gate, new Set(sight.gates.map(({ name }) => name)).size > 1))] : [];
    this.figure.element.hidden = !pictures.length;
    const names = pictures.map(({ id }) => id);
    if (names.join() !== [...this.shown.keys()].join()) {
      this.shown = new Map(pictures.map(({ id }) => [id, this.thumb()]));
      this.row.replaceChildren(...[...this.shown.values()].map(({ element }) => element));
    }
    for (const picture of pictures) this.paint(this.shown.get(picture.id), picture);
    if (pictures.length) this.figure.say(caption(sight, pictures));
  }

  thumb() {
    const canvas = make("canvas", { role: "img", tabindex: 0 }), name = make("small"), one = { canvas, name };
    const at = (event) => {
      const box = canvas.getBoundingClientRect(), { rows, columns } = one.picture;
      return [Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns)];
    };
    canvas.addEventListener("pointermove", (event) => this.point(one, ...at(event)));
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("blur", () => { this.tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      event.stopPropagation();
      one.cell = (one.cell ?? [0, -1]).map((x, i) => Math.max(0, Math.min([one.picture.rows, one.picture.columns][i] - 1, x + move[i])));
      this.point(one, ...one.cell);
    });
    return Object.assign(one, { element: make("div", { class: "thumb" }, canvas, name) });
  }

  paint(one, picture) {
    const { canvas } = one, { rows, columns } = picture, colours = colour.scale(picture.signed ? "signed" : "weight");
    one.picture = picture;
    if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const value = picture.value(i, j), level = picture.signed ? 127.5 + (127.5 * value) / picture.limit : 255 * value;
        pixels[i * columns + j] = colours[Math.max(0, Math.min(255, Math.round(level)))];
      }
    }
    context.putImageData(image, 0, 0);
    one.name.textContent = picture.name;
    canvas.setAttribute("aria-label", `${picture.name}. ${picture.words}`);
  }

  point({ canvas, picture }, row, column) {
    const inside = row >= 0 && column >= 0 && row < picture.rows && column < picture.columns;
    this.tip.hidden = !inside;
    if (!inside) return;
    this.tip.textContent = `${picture.name}\n${picture.place(row, column)}: ${fixed(picture.value(row, column), 3)}`;
    const box = this.figure.body.getBoundingClientRect(), at = canvas.getBoundingClientRect();
    this.tip.style.left = `${Math.max(0, Math.min(at.left - box.left, box.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${at.bottom - box.top + 4}px`;
  }

  svg() {
    const [side, gap, line] = [120, 12, 18], all = [...this.shown.values()], across = Math.min(6, all.length);
    const width = across * (side + gap), height = Math.ceil(all.length / across) * (side + line + gap);
    const root = make("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "font-size": 12, fill: tint("--iv-ink") });
    all.forEach(({ canvas, picture }, i) => {
      const x = (i % across) * (side + gap), y = Math.floor(i / across) * (side + line + gap);
      const image = document.createElementNS("http://www.w3.org/2000/svg", "image");
      for (const [name, value] of Object.entries({ x, y, width: side, height: side, href: canvas.toDataURL(), preserveAspectRatio: "none", style: "image-rendering: pixelated" })) image.setAttribute(name, value);
      root.append(image, make("text", { x, y: y + side + 14 }, picture.name));
    });
    return new XMLSerializer().serializeToString(root);
  }

  csv() {
    const lines = ["picture,row,column,value"];
    for (const { picture } of this.shown.values()) {
      for (let i = 0; i < picture.rows; i++) for (let j = 0; j < picture.columns; j++) lines.push([`"${picture.name}"`, i, j, picture.value(i, j)].join(","));
    }
    return lines.join("\n") + "\n";
  }
}

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const pointName = (point) => (has(`gates.point.${point}`) ? say(`gates.point.${point}`) : point);

function headPicture({ name, layer, head, rows, columns, queries, keys, pooled, bytes }) {
  const data = bytesOf(bytes), value = (i, j) => data[i * columns + j] / 255;
  const token = (tokens, i) => (pooled ? `${tokens[i * pooled]}…` : tokens[i]);
  let sharp = 0;
  for (let i = 0; i < rows; i++) sharp += Math.max(...data.subarray(i * columns, (i + 1) * columns)) / 255 / rows;
  return {
    id: `${name} ${head}`, name: headName(name, layer, head), rows, columns, value, sharp, signed: false,
    place: (i, j) => `${token(queries, i)} → ${token(keys, j)}`, words: say("train.sharpness", { share: sharp }),
  };
}

function headName(name, layer, head) {
  const where = name.includes("cross") ? say("train.cross") : name.startsWith("decoder") ? say("train.decoder") : name.startsWith("encoder") ? say("train.encoder") : "";
  return `${where} ${layer}.${head}`.trim();
}

// layers.0.bwd → 0 ←
const layerName = (name) => name.replace("layers.", "").replace(".fwd", "").replace(".bwd", " ←");

// units are rows, time goes to the right
function gatePicture({ name, point, time, units, low, high, tokens, bytes }, several) {
  const data = bytesOf(bytes), value = (i, j) => low + (data[j * units + i] / 255) * (high - low);
  let mean = 0;
  for (const byte of data) mean += (low + (byte / 255) * (high - low)) / data.length;
  return {
    id: `${name} ${point}`, name: several ? `${pointName(point)} · ${layerName(name)}` : pointName(point), rows: units, columns: time, value, mean,
    signed: SIGNED.includes(point) || low < 0, limit: Math.max(1e-6, Math.abs(low), Math.abs(high)),
    place: (i, j) => say("train.unit_at", { unit: i, token: tokens[j] ?? j }), words: say("train.mean_value", { mean: fixed(mean, 3) }),
  };
}

function caption({ step, heads }, pictures) {
  if (heads.length) {
    const { name, sharp } = pictures.reduce((best, one) => ((one.sharp ?? 0) > (best.sharp ?? 0) ? one : best));
    return say("train.caption_heads", { name, share: sharp, step });
  }
  const gates = pictures.filter(({ signed }) => !signed);
  if (!gates.length) return say("train.caption_states", { step });
  return say("train.caption_gates", { gates: gates.map(({ name, mean }) => `${name} ${format(mean, ".0%")}`).join(say("train.comma")), step });
}
