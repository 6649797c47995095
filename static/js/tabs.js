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

export function openTab(name) {
  if (state.tab !== name) document.getElementById(`tab-${name}-button`)?.click();
}
