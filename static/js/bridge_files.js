// A comparison of heads as files: all cards in one picture, all their numbers in one table.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { fixed } from "./numbers.js";
import { svgText } from "./svg_files.js";

const GAP = 24, HEAD = 46, BETWEEN = 10; // px between two cards; above a map for its name and number; below it

export function bridgeSvg(cards) {
  const ink = colour.token("--iv-ink"), accent = colour.token("--iv-accent"), parts = [];
  let x = 0, tallest = 0;
  for (const { map, svg, card, element } of cards) {
    const drawn = new DOMParser().parseFromString(map.svgText(), "image/svg+xml").documentElement;
    const [wide, high] = ["width", "height"].map((side) => parseFloat(drawn.getAttribute(side)));
    const bars = svg.cloneNode(true), [barsWide, barsHigh] = ["width", "height"].map((side) => parseFloat(bars.getAttribute(side)));
    drawn.setAttribute("x", x);
    drawn.setAttribute("y", HEAD);
    bars.setAttribute("x", x);
    bars.setAttribute("y", HEAD + high + BETWEEN);
    parts.push(make("text", { x, y: 14, "font-size": 14, "font-weight": 600, fill: ink }, element.querySelector("h4").textContent));
    if (!card.focus) parts.push(make("text", { x, y: 36, "font-size": 18, "font-weight": 600, fill: accent }, fixed(card.head.likeness, 2)));
    parts.push(document.importNode(drawn, true), bars);
    x += Math.max(wide, barsWide) + GAP;
    tallest = Math.max(tallest, HEAD + high + BETWEEN + barsHigh);
  }
  return svgText(make("svg", { width: x - GAP, height: tallest }, ...parts));
}

export function bridgeCsv({ of, best, measures }, { run, other }) {
  const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const row = (name, { group, layer, head, likeness = "", outside, profile }) =>
    [quote(name), group, layer, head, likeness, outside, ...measures.map((measure) => profile[measure])].join(",");
  const names = ["run", "group", "layer", "head", "likeness", "on_special_tokens", ...measures];
  return [names.join(","), row(run, of), ...best.map((head) => row(other, head))].join("\n") + "\n";
}
