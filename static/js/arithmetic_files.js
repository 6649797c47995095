// A cell's arithmetic as a file: its lines, one below the other, and its bars.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { svgText } from "./svg_files.js";

const ROW = 22, LEAST = 240; // px

export function arithmeticSvg({ list, sentence, heading, bars }) {
  const [ink, mute, accent] = ["--iv-ink", "--iv-mute", "--iv-accent"].map(colour.token), width = Math.max(LEAST, bars.clientWidth);
  const text = (x, y, words, attributes) => make("text", { x, y, "font-size": 13, fill: ink, ...attributes }, words);
  const parts = [text(0, 14, sentence.textContent, { "font-weight": 600 })], lines = [...list.children];
  let y = 16;
  for (let i = 0; i < lines.length; i += 2) {
    const hot = lines[i].classList.contains("weight") ? { fill: accent, "font-weight": 600 } : {};
    y += ROW;
    parts.push(text(0, y, lines[i].textContent, { fill: mute, ...hot }), text(width, y, lines[i + 1].textContent, { "text-anchor": "end", ...hot }));
  }
  parts.push(text(0, y + 2 * ROW - 6, heading.textContent, { "font-weight": 600 }));
  const drawn = bars.cloneNode(true), top = y + 2 * ROW + 6, height = Number(bars.getAttribute("height"));
  drawn.setAttribute("y", top);
  return svgText(make("svg", { width, height: top + height }, ...parts, drawn));
}
