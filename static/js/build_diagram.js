// The diagram: a model's parts as boxes and stations, drawn from its plan; unfolds by click or keys.

import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { FONTS, isTimeFirst, layOut, localName, recurrent, shapeText, STACK, widthOf } from "./build_layout.js";
import { tint } from "./lines.js";
import { pngOf, svgText } from "./svg_files.js";
import { format, say } from "./words.js";

const SMALLEST = 0.66; // scale: type of 13 px is still read at 8.6

export class Diagram {
  // options: title(), onSelect(id), onOpen(ids), onUnroll(ids), onIndex(id, index)
  constructor(parent, options) {
    this.options = options;
    this.figure = new Figure(parent, { title: " ", className: "build-diagram", name: () => `innerview-${this.plan.family}`, keep: {
      png: () => pngOf(svgText(this.svg)), svg: () => svgText(this.svg), csv: () => this.csv() } });
    this.svg = make("svg", { class: "diagram", role: "tree", tabindex: 0, "font-family": "ui-monospace, Menlo, monospace" });
    this.figure.body.append(this.svg);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.size && this.fit()).observe(this.figure.body);
  }

  // chosen: {open, unrolled, index, node}; marks: ids that differ from the other configuration
  show(plan, chosen, marks = new Set()) {
    Object.assign(this, { plan, chosen, marks });
    const found = layOut(plan.root, {
      open: new Set(chosen.open), unrolled: new Set(chosen.unrolled), time: plan.time,
      words: { name: (part, outer) => localName(this.named(part), outer && this.named(outer)), size: (part) => sizeOf(part) },
    });
    this.nodes = found.nodes;
    this.size = [found.width, found.height];
    this.fit();
    this.svg.setAttribute("viewBox", `0 0 ${found.width} ${found.height}`);
    this.svg.setAttribute("aria-label", say("build.diagram_label", { family: plan.family, n: plan.parameters, parts: found.nodes.length }));
    const boxes = found.nodes.filter(({ parent }) => parent).map((box) => this.drawBox(box));
    this.svg.replaceChildren(...boxes.filter((_, i) => found.nodes[i + 1].isOpen), ...found.edges.map((edge) => this.drawEdge(edge)),
      ...found.nodes.filter(({ parent, isOpen }) => parent && isOpen).map((box) => this.drawTitle(box)),
      ...boxes.filter((_, i) => !found.nodes[i + 1].isOpen), ...found.nodes.filter(({ strip }) => strip).map((box) => this.drawStrip(box)));
  }

  // As wide as there is room, but never too small to be read.
  fit() {
    const [width, height] = this.size, room = this.figure.body.clientWidth - 10, scale = Math.min(1, Math.max(SMALLEST, room / width));
    this.svg.setAttribute("width", Math.round(width * scale));
    this.svg.setAttribute("height", Math.round(height * scale));
  }

  // A part of a folded group stands for the one whose number was chosen.
  named(part) {
    for (const [leader, index] of Object.entries(this.chosen.index)) {
      const path = leader.slice(0, -2);
      if (index && (part.path === path || part.path.startsWith(`${path}.`))) return { ...part, path: renumbered(path, index) + part.path.slice(path.length) };
    }
    return part;
  }

  drawBox(box) {
    const { part, x, y, width, height, isOpen } = box, kind = part.kind === "module" ? (isOpen ? "open" : part.rows.length ? "closed" : "leaf") : part.kind;
    const [ink, mute, line, card, soft, accent, amber] = ["ink", "mute", "line", "card", "soft", "accent", "amber"].map((name) => tint(`--iv-${name}`));
    const chosen = this.chosen.node === part.id, differs = this.marks.has(part.id);
    const fill = groundOf(box);
    const stroke = chosen ? accent : differs ? amber : kind === "point" ? soft : line;
    const group = make("g", {
      class: `part part-${kind}${differs ? " differs" : ""}`, role: "treeitem", "data-id": part.id, "data-path": this.named(part).path, "aria-selected": String(chosen),
      "data-count": part.count, "data-shape": part.shape ? part.shape.join(",") : null,
      "aria-expanded": part.rows.length ? String(isOpen) : null, "aria-label": this.describe(part), onclick: () => this.press(box),
    }, make("title", {}, this.describe(part)));
    if (part.times > 1) group.append(...[STACK, STACK / 2].map((by) => make("rect", { x: x + by, y: y + by, width, height, rx: 10, fill: card, stroke: line })));
    group.append(make("rect", { x, y, width, height, rx: kind === "point" || kind === "input" ? height / 2 : 10, fill, stroke, "stroke-width": chosen || differs ? 2.2 : 1.2, "stroke-dasharray": kind === "input" ? "4 3" : null }));
    const text = (attributes, words) => make("text", attributes, words);
    if (isOpen) return group;
    if (part.kind === "module") {
      group.append(
        text({ x: x + 13, y: y + 18, fill: ink, "font-size": 13, "font-weight": 600 }, box.lines[0].text),
        text({ x: x + 13, y: y + 34, fill: mute, "font-size": 11.5 }, box.lines[1].text));
    } else {
      const shape = shapeText(part.shape);
      group.append(
        text({ x: x + 11, y: y + 18, fill: kind === "point" ? accent : ink, "font-size": 13 }, box.name),
        text({ x: x + width - 11, y: y + 18, fill: mute, "font-size": 13, "text-anchor": "end" }, shape));
    }
    return group;
  }

  // Name, class and size of an open box; above the arrows, which pass behind its words.
  drawTitle(box) {
    const { part, x, y, width } = box, [ink, mute, accent] = ["ink", "mute", "accent"].map((name) => tint(`--iv-${name}`));
    const text = (attributes, words) => make("text", { y: y + 21, ...attributes }, words);
    return make("g", { class: "part-title", stroke: groundOf(box), "stroke-width": 5, "stroke-linejoin": "round", "paint-order": "stroke", "data-title": part.id, onclick: () => this.press(box) },
      text({ x: x + 12, fill: ink, "font-size": 13, "font-weight": 600 }, `▾ ${box.name}`),
      text({ x: x + 20 + widthOf(`▾ ${box.name}`, FONTS.name), fill: mute, "font-size": 11.5 }, part.module),
      text({ x: x + width - 12, fill: mute, "font-size": 11.5, "text-anchor": "end" }, sizeOf(part, false)),
      ...this.stepper(box, mute, accent), ...this.unroller(box, accent));
  }

  // ‹ 3 / 12 ›: which of the equal blocks is shown
  stepper({ part, x, y, width }, mute, accent) {
    if (part.times < 2) return [];
    const index = this.chosen.index[part.id] ?? 0, at = x + width - 16 - widthOf(sizeOf(part, false), FONTS.small);
    const button = (dx, by, sign) => make("text", {
      class: "diagram-button", x: at - dx, y: y + 22, fill: accent, "font-size": 17, "text-anchor": "middle", role: "button", "aria-label": say(by > 0 ? "build.next" : "build.previous"),
      onclick: (event) => { event.stopPropagation(); this.options.onIndex(part.id, (index + by + part.times) % part.times); },
    }, sign);
    return [button(78, -1, "‹"), make("text", { x: at - 43, y: y + 21, fill: mute, "font-size": 11.5, "text-anchor": "middle" }, say("build.of", { i: index + 1, n: part.times })), button(8, 1, "›")];
  }

  unroller(box, accent) {
    if (!recurrent(box)) return [];
    const { part, x, y, width } = box, on = this.chosen.unrolled.includes(part.id);
    const at = x + width - 18 - widthOf(sizeOf(part, false), FONTS.small) - (part.times > 1 ? 90 : 0);
    return [make("text", {
      class: "diagram-button unroll", x: at, y: y + 21, fill: accent, "font-size": 12, "text-anchor": "end", role: "button",
      onclick: (event) => { event.stopPropagation(); this.options.onUnroll(toggled(this.chosen.unrolled, part.id)); },
    }, say(on ? "build.roll" : "build.unroll"))];
  }

  // The cell, once per time step, and the states that go from one to the next.
  drawStrip({ part, strip, x, width }) {
    const { steps, time, states, backward, y } = strip, [ink, mute, line, card, amber] = ["ink", "mute", "line", "card", "amber"].map((name) => tint(`--iv-${name}`));
    const left = x + (width - strip.width) / 2 + 16, name = localName(part, null).split(".").at(-1), parts = [];
    for (let t = 0; t < steps; t++) {
      const at = left + t * 62;
      parts.push(make("rect", { x: at, y, width: 40, height: 34, rx: 8, fill: card, stroke: line }), make("text", { x: at + 20, y: y + 15, fill: ink, "font-size": 11.5, "text-anchor": "middle" }, name),
        make("text", { x: at + 20, y: y + 28, fill: mute, "font-size": 10.5, "text-anchor": "middle" }, `t=${t}`));
      if (t === steps - 1 && time === steps) continue;
      states.forEach((state, i) => {
        const h = y + 11 + i * 13, [from, to] = backward ? [at + 62, at + 40] : [at + 40, at + 62];
        parts.push(make("path", { d: `M${from} ${h}H${to}`, stroke: amber, fill: "none", "stroke-width": 1.4 }), arrow(to, h, backward ? "left" : "right", amber));
        if (!t) parts.push(make("text", { x: at - 6, y: h + 4, fill: amber, "font-size": 11, "text-anchor": "end" }, { hidden: "h", cell: "c" }[state.path.split(".").at(-1)] ?? ""));
      });
    }
    if (time > steps) parts.push(make("text", { x: left + steps * 62 + 4, y: y + 22, fill: mute, "font-size": 13 }, say("build.more_steps", { n: time - steps })));
    const shape = states[0].shape;
    parts.push(make("title", {}, say("build.strip", { states: states.map(({ path }) => path).join(", "), shape: shapeText([shape[0], shape.at(-1)]) })));
    return make("g", { class: "strip" }, ...parts);
  }

  drawEdge({ from, to, again, points }) {
    const [mute, ink, amber] = ["mute", "ink", "amber"].map((name) => tint(`--iv-${name}`)), { a, b } = points;
    const colour = again ? amber : points.kind === "lane" ? ink : mute, shape = from.part.shape ?? shapeOut(from.part);
    const told = shape && (isTimeFirst(shape, to.part.shape) ? `${shapeText(shape)} · ${say("build.time_first")}` : shapeText(shape));
    const path = points.kind === "direct"
      ? straightened(a, b, points.gate)
      : cornered([a, [a[0], points.out], [points.x, points.out], [points.x, points.into], [b[0], points.into], [b[0], b[1] - 4]]);
    const words = `${this.named(from.part).path} → ${this.named(to.part).path}${told ? ` · ${told}` : ""}${again ? ` · ${say("build.step_before")}` : ""}`;
    const label = points.kind === "direct" && from.part.kind === "module" && shape && !from.labelled
      ? make("text", { x: a[0] + (b[0] > a[0] + 4 ? -6 : 6), y: a[1] + 13, fill: mute, "font-size": 10.5, class: "edge-shape", "text-anchor": b[0] > a[0] + 4 ? "end" : "start" }, told) : null;
    from.labelled = from.labelled || Boolean(label);
    return make("g", { class: `edge${again ? " again" : ""}`, "data-from": from.id, "data-to": to.id }, make("title", {}, words),
      make("path", { d: path, fill: "none", stroke: "transparent", "stroke-width": 9 }),
      make("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.3, "stroke-dasharray": again ? "4 3" : null, "stroke-opacity": points.kind === "lane" && !again ? 0.55 : 0.85 }),
      arrow(b[0], b[1], "down", colour), label);
  }

  describe(part) {
    const named = this.named(part), shape = part.shape ? ` · ${shapeText(part.shape)}` : "";
    return part.kind === "module" ? `${named.path || this.plan.family} · ${part.module} · ${say("parameters", { n: part.count })}${shape}` : `${named.path}${shape}`;
  }

  press(box) {
    this.svg.focus({ preventScroll: true });
    if (box.part.rows.length) this.options.onOpen(toggled(this.chosen.open, box.id));
    this.options.onSelect(box.id);
  }

  key(event) {
    const boxes = this.nodes.filter(({ parent }) => parent), at = boxes.findIndex(({ id }) => id === this.chosen.node), here = boxes[at];
    const { key } = event;
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter", " "].includes(key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!here) return this.options.onSelect(boxes[0].id);
    const folds = here.part.rows.length > 0;
    if ((key === "ArrowRight" && folds && !here.isOpen) || (key === "ArrowLeft" && here.isOpen) || ((key === "Enter" || key === " ") && folds)) return this.options.onOpen(toggled(this.chosen.open, here.id));
    if (key === "ArrowLeft") return here.parent.parent && this.options.onSelect(here.parent.id);
    const next = boxes[at + (key === "ArrowUp" ? -1 : 1)];
    if (next && key !== "Enter" && key !== " ") this.options.onSelect(next.id);
  }

  csv() {
    const quote = (text) => `"${String(text ?? "").replaceAll('"', '""')}"`, lines = [];
    const visit = (part) => {
      lines.push([part.path, part.kind, part.module, part.shape ? part.shape.join("x") : "", part.count, part.times].map(quote).join(","));
      part.rows.flat().forEach(visit);
    };
    visit(this.plan.root);
    return ["path,kind,module,shape,parameters,times", ...lines].join("\n") + "\n";
  }
}

export const toggled = (list, id) => (list.includes(id) ? list.filter((one) => one !== id) : [...list, id]);

// "blocks.0", 3 → "blocks.3"; "layers.1.fwd", 2 → "layers.3.fwd"
export function renumbered(path, by) {
  const parts = path.split("."), at = parts.findLastIndex((part) => /^\d+$/.test(part));
  parts[at] = String(Number(parts[at]) + by);
  return parts.join(".");
}

// What leaves a folded box: the tensor of its last station.
function shapeOut(part) {
  const last = part.rows.at(-1)?.at(-1);
  return last ? last.shape ?? shapeOut(last) : null;
}

function sizeOf(part, withClass = true) {
  const kind = withClass ? `${part.module} · ` : "";
  return part.count ? `${kind}${format(part.count, ",")}` : kind.replace(/ · $/, "");
}

// What lies behind a part's words.
function groundOf({ part, isOpen, depth }) {
  return tint(part.kind === "point" ? "--iv-soft" : part.kind === "input" || (isOpen && depth % 2) ? "--iv-paper" : "--iv-card");
}

// A curve down to the gate of whatever holds the end, and straight on from there.
function straightened(a, b, gate) {
  const to = gate === null ? b[1] - 4 : Math.max(gate, a[1] + 14), bend = Math.min(18, (to - a[1]) / 2);
  return `M${a[0]} ${a[1]}C${a[0]} ${a[1] + bend} ${b[0]} ${to - bend} ${b[0]} ${to}${gate === null ? "" : `V${b[1] - 4}`}`;
}

function arrow(x, y, way, fill) {
  const points = { down: `${x},${y} ${x - 3.6},${y - 7} ${x + 3.6},${y - 7}`, right: `${x},${y} ${x - 6},${y - 3} ${x - 6},${y + 3}`, left: `${x},${y} ${x + 6},${y - 3} ${x + 6},${y + 3}` }[way];
  return make("polygon", { points, fill });
}

function cornered(points) {
  const round = 6;
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, at, after] = [points[i - 1], points[i], points[i + 1]];
    const toward = (to) => {
      const length = Math.hypot(to[0] - at[0], to[1] - at[1]) || 1, by = Math.min(round, length / 2);
      return [at[0] + ((to[0] - at[0]) * by) / length, at[1] + ((to[1] - at[1]) * by) / length];
    };
    const [a, b] = [toward(before), toward(after)];
    path += `L${a[0].toFixed(1)} ${a[1].toFixed(1)}Q${at[0].toFixed(1)} ${at[1].toFixed(1)} ${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
  }
  return `${path}L${points.at(-1)[0].toFixed(1)} ${points.at(-1)[1].toFixed(1)}`;
}
