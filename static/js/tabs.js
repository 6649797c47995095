// Which tab is open: told to the store and to the style sheets (body[data-tab]), whoever opened it.

import { set, state } from "./store.js";

let watched = null;

export function watchTabs() {
  const tabs = document.getElementById("tabs");
  if (!tabs || watched === tabs) return;
  watched = tabs;
  new MutationObserver(tell).observe(tabs, { subtree: true, attributes: true, attributeFilter: ["aria-selected"] });
  tell();
}

function tell() {
  const tab = document.querySelector("#tabs [role=tab][aria-selected=true]")?.dataset.tabId;
  if (!tab || document.body.dataset.tab === tab) return;
  document.body.dataset.tab = tab;
  set({ tab });
}

// While the page comes up, Gradio's tabs are not there yet, or do not hear a click yet.
export async function openTab(name) {
  for (let tries = 0; state.tab !== name && tries < 100; tries++) {
    document.getElementById(`tab-${name}-button`)?.click();
    await new Promise((done) => setTimeout(done, 50));
  }
}

export async function tabsThere() {
  while (!document.querySelector("#tabs [role=tab][aria-selected=true]")) await new Promise((done) => setTimeout(done, 20));
  watchTabs();
}
