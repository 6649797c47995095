// Lines and points with axes to zoom in, by Plotly: fetched once, when first needed; coloured like the page.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { typeSize } from "./lines.js";
import { on } from "./store.js";

const asked = new Map(); // element → the last thing to be drawn in it
const waiting = new Set(); // elements to be drawn in the next frame
let loading = null;

function library() {
  return (loading ??= new Promise((resolve, reject) => {
    const script = make("script", { src: new URL("ours/plotly.min.js", document.baseURI).href });
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; reject(new Error("the plotting library did not load")); };
    document.head.append(script);
  }));
}

// Draws traces into an element, or moves those that are there; layout as in Plotly, over the page's own.
// `traces` may be a function: it is asked again when the ground changes, so that it can give other colours.
export async function plot(element, traces, layout = {}, { name = "innerview", onClick = null } = {}) {
  const first = !asked.has(element);
  asked.set(element, { traces, layout, name, onClick });
  const Plotly = await library();
  if (first) {
    await draw(Plotly, element);
    element.on("plotly_click", ({ points }) => asked.get(element).onClick?.(points[0]));
    new ResizeObserver(() => element.clientWidth && Plotly.Plots.resize(element)).observe(element);
  } else if (element._fullLayout && !waiting.has(element)) { // else the first call draws what was asked last
    waiting.add(element);
    await new Promise(requestAnimationFrame); // of several moves within one frame the last is drawn
    waiting.delete(element);
    await draw(Plotly, element);
  }
}

function draw(Plotly, element) {
  const { traces, layout, name } = asked.get(element), given = (x) => (typeof x === "function" ? x() : x);
  return Plotly.react(element, given(traces), themed(given(layout)), {
    displayModeBar: false, responsive: false, doubleClick: "reset", toImageButtonOptions: { filename: name },
  });
}

function themed(layout) {
  const [ink, mute, line, card] = ["--iv-ink", "--iv-mute", "--iv-line", "--iv-card"].map(colour.token);
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickfont: { color: mute, size: typeSize() }, title: { font: { color: mute, size: typeSize() } } };
  const axes = Object.fromEntries(Object.keys(layout).filter((key) => /^[xy]axis/.test(key)).map((key) => [key, merge(axis, layout[key])]));
  return merge({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: card, margin: { l: 64, r: 16, t: 12, b: 48 }, hovermode: "closest",
    font: { family: 'system-ui, "Noto Sans CJK SC", sans-serif', size: typeSize(), color: ink },
    hoverlabel: { bgcolor: ink, bordercolor: ink, font: { color: colour.token("--iv-paper"), family: "ui-monospace, Menlo, monospace" } },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, xaxis: axis, yaxis: axis,
  }, { ...layout, ...axes });
}

function merge(base, over) {
  if (!isPlain(base) || !isPlain(over)) return over;
  return Object.fromEntries([...new Set([...Object.keys(base), ...Object.keys(over)])].map((key) => [
    key, key in over ? (key in base ? merge(base[key], over[key]) : over[key]) : base[key],
  ]));
}

const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// What a Figure's `keep` wants of a plotted element
export const plotKeep = (element) => ({
  png: async () => (await fetch(await image(element, "png", 2))).blob(),
  svg: async () => decodeURIComponent((await image(element, "svg", 1)).replace(/^data:image\/svg\+xml,/, "")),
});

async function image(element, format, scale) {
  const { width, height } = element.getBoundingClientRect();
  return (await library()).toImage(element, { format, width, height, scale });
}

on(["theme"], () => {
  for (const element of asked.keys()) if (element._fullLayout) draw(window.Plotly, element);
});
