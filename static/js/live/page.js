// The page's player: live figures follow the page's state; Plotly is fetched once, when the first of them is to be drawn.

import { onAny, set, state } from "../store.js";
import { paintLargeHeatmaps } from "./heatmap_canvas.js";
import { Player } from "./player.js";

let loading = null;

// a private reference: Gradio brings an older Plotly of its own and may put it in the same place
function library() {
  return (loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: new URL("ours/plotly.min.js", document.baseURI).href });
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; reject(new Error("the plotting library did not load")); };
    document.head.append(script);
  }));
}

const page = {
  state,
  set,
  templates: null,
  typeSize: () => (state.large ? 18 : window.innerWidth >= 1700 ? 15 : 13), // larger where there is room, to be read from the last row
  async plotly() {
    page.looks ??= fetch(new URL("ours/templates.json", document.baseURI)).then((answer) => answer.json());
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))); // posters first: Plotly takes long to start
    const Plotly = await library();
    page.painting ??= paintLargeHeatmaps(Plotly);
    await page.painting;
    page.templates = await page.looks;
    for (const { layout } of Object.values(page.templates)) for (const axis of [layout.xaxis, layout.yaxis]) axis.title.font.size = page.typeSize();
    return Plotly;
  },
};

export const player = new Player(page);
onAny((changed) => player.moved(changed));
