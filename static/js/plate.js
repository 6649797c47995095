// A picture as it is kept: on the page's own ground, with its title, what it shows (run, step, input) and its caption.

import * as colour from "./colour.js";
import { make } from "./dom.js";

const EDGE = 24, TITLE = 18, ABOUT = 13, CAPTION = 14, LINE = 1.45; // px; type sizes; height of a line of them
const LEAST = 420, MOST = 900; // px between which a plate is at least and at most as wide as its words would like
const FAMILY = 'system-ui, "Noto Sans CJK SC", sans-serif';
const ruler = document.createElement("canvas").getContext("2d");

// svg: text of a drawn SVG; → text of an SVG around it
export function plate(svg, { title = "", about = "", caption = "" }) {
  const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const [wide, high] = sizeOf(drawn), width = Math.max(wide, Math.min(LEAST, MOST)) + 2 * EDGE;
  const [ink, mute, ground] = ["--iv-ink", "--iv-mute", "--iv-card"].map(colour.token);
  const words = [], below = [];
  let y = EDGE;
  const write = (into, text, size, weight, fill) => {
    for (const line of wrapped(text, size, weight, width - 2 * EDGE)) {
      y += size * LINE;
      into.push(make("text", { x: EDGE, y: y - size * 0.35, "font-size": size, "font-weight": weight, "font-family": FAMILY, fill }, line));
    }
  };
  write(words, title, TITLE, 600, ink);
  write(words, about, ABOUT, 400, mute);
  const top = y + (words.length ? 14 : 0);
  y = top + high + 8;
  write(below, caption, CAPTION, 400, ink);
  const height = Math.ceil(y + EDGE);
  const root = make("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, make("rect", { width, height, fill: ground }), ...words, ...below);
  for (const [name, value] of Object.entries({ x: EDGE, y: top, width: wide, height: high })) drawn.setAttribute(name, value);
  root.append(document.importNode(drawn, true));
  return new XMLSerializer().serializeToString(root);
}

function sizeOf(svg) {
  const box = svg.getAttribute("viewBox")?.split(/[\s,]+/).map(Number);
  return ["width", "height"].map((side, i) => parseFloat(svg.getAttribute(side)) || box?.[2 + i] || 300);
}

// lines of a text; also between any two Chinese characters
function wrapped(text, size, weight, most) {
  ruler.font = `${weight} ${size}px ${FAMILY}`;
  const lines = [];
  let line = "";
  for (const piece of text.match(/[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+\s*|\s+/g) ?? []) {
    if (line && ruler.measureText((line + piece).trimEnd()).width > most) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += piece;
  }
  return line.trim() ? [...lines, line.trimEnd()] : lines;
}
