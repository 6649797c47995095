// All heads at once on one canvas, rows are layers, each with its role where there is room.

import * as colour from "./colour.js";
import { about, darkest, heads, ready, step, weights } from "./current.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { gridSvg } from "./grid_files.js";
import { resize } from "./heatmap.js";
import { typeSize } from "./lines.js";
import { roleFont, roleLabels, roleOf } from "./roles.js";
import { sentences } from "./sentences.js";
import { set, shown, state } from "./store.js";
import { say } from "./words.js";

const ROLE = 18, SIDE = 220, LEAST = 20, NAMED = 26; // px: below a head for its role; a head's side: most, least, with a name
const LEFT = 24, TOP = 22;

export class Grid {
  constructor(parent) {
    const keep = { svg: () => gridSvg(this), csv: () => this.csv() };
    this.figure = new Figure(parent, { title: say("all_heads"), className: "grid", about, name: () => `${state.run}-${state.group}-heads-step${step()}`, keep });
    this.canvas = make("canvas", { class: "grid-canvas", tabindex: 0, role: "img" });
    this.tip = make("div", { class: "tip", hidden: true });
    this.tile = document.createElement("canvas");
    this.figure.body.append(make("div", { class: "heatmap-box" }, this.canvas, this.tip));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("click", (event) => this.pick(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => ready() && this.draw()).observe(this.figure.body);
  }

  draw() {
    const [, layers, count, rows, columns] = weights().shape, width = this.figure.body.clientWidth;
    if (!width) return;
    const gap = count > 8 ? 5 : 10, tallest = Math.max(300, window.innerHeight - 400);
    const wide = Math.min(SIDE, (width - LEFT - 4) / count - gap), room = tallest / layers - gap;
    const named = Math.min(wide, room - ROLE) >= NAMED, side = Math.max(LEAST, Math.min(wide, named ? room - ROLE : room));
    const pitchX = side + gap, pitchY = side + gap + (named ? ROLE : 0);
    this.place = { left: LEFT, top: TOP, side, gap, pitchX, pitchY, layers, count, named };
    const height = TOP + layers * pitchY, ratio = window.devicePixelRatio || 1, full = Math.max(width, LEFT + count * pitchX);
    resize(this.canvas, full, height, ratio);
    if (this.canvas.style.width !== `${full}px`) this.canvas.style.width = `${full}px`;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, full, height);
    const limit = this.paintTile(weights().at(state.snapshot), rows, columns);
    this.placeTiles(context, rows, columns);
    this.paintNames(context);
    this.canvas.setAttribute("aria-label", this.summary());
    const { pooled, shape } = heads();
    const said = [say("grid_caption", { layers, heads: count })];
    if (limit < 1) said.push(say("grid_limit", { limit }));
    if (pooled) said.push(say("pooled", { side: pooled, length: shape[3] }));
    this.figure.say(sentences(...said));
  }

  // every head painted once into one small picture, which lasts until the moment or the ground changes
  paintTile(values, rows, columns) {
    const { layers, count } = this.place, colours = colour.scale("weight"), { data, unit } = values;
    const { of } = this.painted ?? {};
    if (of && of.buffer === data.buffer && of.byteOffset === data.byteOffset && this.painted.colours === colours) return this.painted.limit;
    const limit = darkest(values), slope = (255 * unit) / limit, stride = columns * count;
    this.painted = { of: data, colours, limit, rows, columns };
    this.tile.width = columns * count;
    this.tile.height = rows * layers;
    const small = this.tile.getContext("2d"), image = small.createImageData(this.tile.width, this.tile.height);
    const pixels = new Uint32Array(image.data.buffer);
    let i = 0;
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < count; head++) {
        for (let row = 0; row < rows; row++) {
          let at = (layer * rows + row) * stride + head * columns;
          for (let column = 0; column < columns; column++) pixels[at++] = colours[Math.min(255, (data[i++] * slope + 0.5) | 0)];
        }
      }
    }
    small.putImageData(image, 0, 0);
    return limit;
  }

  // … then scaled up head by head
  placeTiles(context, rows, columns) {
    const { side, pitchX, pitchY, layers, count } = this.place;
    context.imageSmoothingEnabled = rows > side;
    const [accent, line] = ["--iv-accent", "--iv-line"].map(colour.token);
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < count; head++) {
        const x = LEFT + head * pitchX, y = TOP + layer * pitchY;
        context.drawImage(this.tile, head * columns, layer * rows, columns, rows, x, y, side, side);
        const chosen = layer === state.layer && head === state.head, out = chosen ? 2.5 : 0.5;
        context.strokeStyle = chosen ? accent : line;
        context.lineWidth = chosen ? 2.5 : 1;
        context.strokeRect(x - out, y - out, side + 2 * out, side + 2 * out);
      }
    }
  }

  paintNames(context) {
    const { side, gap, pitchX, pitchY, layers, count, named } = this.place;
    const [mute, accent] = ["--iv-mute", "--iv-accent"].map(colour.token);
    const fits = (text) => context.measureText(text).width <= side + gap - 4;
    context.font = `${typeSize() - 1}px system-ui, sans-serif`;
    context.fillStyle = mute;
    context.textAlign = "center";
    const spelled = fits(say("head_n", { n: count - 1 }));
    for (let head = 0; head < count; head++) context.fillText(spelled ? say("head_n", { n: head }) : String(head), LEFT + head * pitchX + side / 2, 14);
    for (let layer = 0; layer < layers; layer++) context.fillText(String(layer), 9, TOP + layer * pitchY + side / 2 + 4);
    if (!named) return;
    const label = this.labels(context);
    this.each((layer, head, role) => {
      context.fillStyle = role.clear ? accent : mute;
      context.font = roleFont(role);
      context.fillText(label(role), LEFT + head * pitchX + side / 2, TOP + layer * pitchY + side + 15);
    });
  }

  // how the roles are named, in type measured by a canvas
  labels(context) {
    const roles = [], room = this.place.side + this.place.gap - 4;
    this.each((layer, head, role) => roles.push(role));
    return roleLabels(roles, (text, role) => {
      context.font = roleFont(role);
      return context.measureText(text).width <= room;
    });
  }

  each(visit) {
    for (let layer = 0; layer < this.place.layers; layer++) {
      for (let head = 0; head < this.place.count; head++) visit(layer, head, roleOf(shown.look, heads(), state.snapshot, layer, head));
    }
  }

  summary() {
    const { layers, count } = this.place, said = [];
    this.each((layer, head, role) => {
      if (role.clear || layers * count <= 24) said.push(`${layer}.${head}: ${say(`role_short.${role.name}`, { share: role.share })}`);
    });
    return `${say("grid_caption", { layers, heads: count })} ${said.join("; ")}`;
  }

  // [layer, head] under the pointer, or null
  at(event) {
    const box = this.canvas.getBoundingClientRect(), { pitchX, pitchY, layers, count } = this.place;
    const head = Math.floor((event.clientX - box.left - LEFT) / pitchX), layer = Math.floor((event.clientY - box.top - TOP) / pitchY);
    return head >= 0 && head < count && layer >= 0 && layer < layers ? [layer, head] : null;
  }

  pick(event) {
    const found = this.at(event);
    if (found) set({ layer: found[0], head: found[1] });
  }

  point(event) {
    const found = this.at(event), box = this.canvas.getBoundingClientRect();
    this.tip.hidden = !found;
    if (!found) return;
    const role = roleOf(shown.look, heads(), state.snapshot, ...found);
    this.tip.textContent = `${say("one_head_title", { head: found.join(".") })}: ${say(`role_short.${role.name}`, { share: role.share })}`;
    this.tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, this.figure.body.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${event.clientY - box.top + 16}px`;
  }

  key(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const within = (x, n) => Math.max(0, Math.min(n - 1, x));
    set({ layer: within(state.layer + move[0], this.place.layers), head: within(state.head + move[1], this.place.count) });
  }

  // every measure of every head at this moment
  csv() {
    const { measures, name } = heads(), lines = [["layer", "head", "role", ...measures].join(",")];
    this.each((layer, head, role) => {
      const values = measures.map((measure) => shown.look.arrays[`${name}.${measure}`].value(state.snapshot, layer, head));
      lines.push([layer, head, role.name, ...values].join(","));
    });
    return lines.join("\n") + "\n";
  }
}
