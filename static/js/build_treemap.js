// Where the parameters are: every module an area as large as its true count.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { tint } from "./lines.js";
import { pngOf, svgText } from "./svg_files.js";
import { format, inLanguage, language, say, sayInto } from "./words.js";

const HEIGHT = 300, NARROW = 46, LOW = 30, HEAD = 20; // px; areas smaller than that have no name
const SHADES = { Embedding: 0.12, Learned: 0.2, Attention: 0.42, Alignment: 0.42, FeedForward: 0.75, Layer: 0.75, Norm: 0.05, Head: 0.3 };
const NAMED = 3; // of several equally large parts
const PLAIN = 0.3; // a module of no such kind, in no such module

export class Treemap {
  constructor(parent, { select }) {
    this.select = select;
    this.figure = new Figure(parent, { title: say("build.treemap"), className: "build-treemap", name: () => `innerview-${this.plan.family}-parameters`, keep: {
      png: () => pngOf(svgText(this.svg)), svg: () => svgText(this.svg), csv: () => this.csv() } });
    this.svg = make("svg", { role: "img", class: "treemap" });
    this.figure.body.append(this.svg);
    this.notes = make("ul", { class: "build-notes" });
    this.figure.caption.after(this.notes);
    new ResizeObserver(() => this.plan && this.width !== this.figure.body.clientWidth && this.draw()).observe(this.figure.body);
  }

  // whose: which of two, where two are compared
  show(plan, whose) {
    this.plan = plan;
    this.figure.title.textContent = whose + say("build.treemap");
    this.draw();
  }

  draw() {
    this.width = this.figure.body.clientWidth;
    if (!this.width) return;
    const root = areasOf(this.plan.root, 1);
    this.rects = [];
    this.fill(root.inner, { x: 0, y: 0, width: this.width, height: HEIGHT }, 0);
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", HEIGHT);
    this.svg.replaceChildren(...this.rects);
    const caption = this.told(leaves(root));
    this.figure.say(caption);
    this.svg.setAttribute("aria-label", caption.replaceAll("**", ""));
    this.notes.replaceChildren(...this.plan.notes.map((note) => {
      const item = make("li", {});
      sayInto(item, inLanguage(note));
      return item;
    }));
  }

  told(parts) {
    const count = Math.max(...parts.map((part) => part.count)), paths = parts.filter((part) => part.count === count).map(({ path }) => path);
    const values = { n: this.plan.parameters, count, share: count / this.plan.parameters };
    if (paths.length === 1) return say("build.treemap_caption", { ...values, path: paths[0] });
    const listed = paths.length > NAMED + 1 ? [...paths.slice(0, NAMED), say("build.others", { n: paths.length - NAMED })] : paths;
    return say("build.treemap_tied", { ...values, ties: paths.length, paths: new Intl.ListFormat(language).format(listed) });
  }

  // squarified: rows along the shorter side, each as long as keeps its areas nearest to squares
  fill(areas, space, depth) {
    let rest = areas.filter(({ count }) => count).sort((a, b) => b.count - a.count);
    let { x, y, width, height } = space, left = rest.reduce((sum, { count }) => sum + count, 0);
    while (rest.length && left > 0) {
      const wide = width >= height, side = wide ? height : width, scale = (width * height) / left;
      let taken = 1;
      while (taken < rest.length && worst(rest.slice(0, taken + 1), side, scale) <= worst(rest.slice(0, taken), side, scale)) taken++;
      const row = rest.slice(0, taken), sum = row.reduce((total, { count }) => total + count, 0), thick = (sum * scale) / side;
      let at = 0;
      for (const area of row) {
        const long = (side * area.count) / sum;
        this.one(area, wide ? { x, y: y + at, width: thick, height: long } : { x: x + at, y, width: long, height: thick }, depth);
        at += long;
      }
      [x, y, width, height] = wide ? [x + thick, y, width - thick, height] : [x, y + thick, width, height - thick];
      rest = rest.slice(taken);
      left -= sum;
    }
  }

  one(area, { x, y, width, height }, depth) {
    const share = area.count / this.plan.parameters, words = say("build.treemap_tip", { path: area.path, module: area.module, n: area.count, share });
    const inside = area.inner.length > 0 && width > 90 && height > 60, shade = colour.scale("weight")[Math.round(255 * area.shade)];
    const ink = inside || area.shade < 0.4 ? tint("--iv-ink") : tint("--iv-paper");
    const group = make("g", { class: "area", "data-path": area.path, "data-count": area.count, onclick: (event) => { event.stopPropagation(); this.select(area.id); } }, make("title", {}, words),
      make("rect", { x: x + 1, y: y + 1, width: Math.max(0, width - 2), height: Math.max(0, height - 2), rx: 4, fill: inside ? tint("--iv-card") : colour.css(shade), stroke: tint("--iv-line") }));
    this.rects.push(group);
    const name = area.name + (area.times > 1 ? ` × ${area.times}` : ""), fits = width > NARROW && height > (inside ? 0 : LOW) && name.length * 6.9 < width - 10;
    if (fits) group.append(make("text", { x: x + 7, y: y + 15, fill: ink, "font-size": 11.5, "font-weight": inside ? 600 : 400 }, name));
    if (fits && !inside && height > 40 && width > 74) group.append(make("text", { x: x + 7, y: y + 30, fill: ink, "font-size": 11 }, format(area.count, ",")));
    if (inside) this.fill(area.inner, { x: x + 3, y: y + HEAD, width: width - 6, height: height - HEAD - 3 }, depth + 1);
  }

  csv() {
    return ["path,module,parameters", ...leaves(areasOf(this.plan.root, 1)).map(({ path, module, count }) => `${path},${module},${count}`)].join("\n") + "\n";
  }
}

// A folded group counts as often as it is there.
// Its path has a star where the group's numbers are.
function areasOf(part, times, outer = "", outerShade = null, star = (path) => path) {
  const all = times * part.times, mine = part.times > 1 ? (path) => star(path).replace(/\.\d+/, ".*") : star, local = outer && part.path.startsWith(`${outer}.`) ? part.path.slice(outer.length + 1) : part.path;
  const name = part.times > 1 ? local.replace(/\.\d+/, "") : local, shade = SHADES[kindOf(part.module)] ?? outerShade;
  const inner = part.rows.flat().filter((one) => one.count).map((one) => areasOf(one, all, part.path, shade, mine));
  const own = part.weights.reduce((sum, { count }) => sum + count, 0) * all;
  if (own && inner.length) inner.push({ id: part.id, path: mine(part.path), name: "·", module: part.module, count: own, times: 1, inner: [], shade: shade ?? PLAIN });
  return { id: part.id, path: mine(part.path), name, module: part.module, count: part.count * all, times: part.times, inner, shade: shade ?? PLAIN };
}

const leaves = (area) => (area.inner.length ? area.inner.flatMap(leaves) : [area]);
const kindOf = (module) => Object.keys(SHADES).find((kind) => module.endsWith(kind)) ?? "";

function worst(row, side, scale) {
  const areas = row.map(({ count }) => count * scale), sum = areas.reduce((a, b) => a + b, 0);
  return Math.max((side ** 2 * Math.max(...areas)) / sum ** 2, sum ** 2 / (side ** 2 * Math.min(...areas)));
}
