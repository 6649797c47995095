// Pointing at a token in the sidebar points at its row and column in the pictures, and the other way round: the pictures'
// player tells it at once, without the state, since it changes with every move of the pointer.

import { player } from "./live/page.js";

const sidebar = (event) => event.target.closest?.(".view-sidebar .token");
const point = (event) => sidebar(event) && player.point({ source: [...sidebar(event).parentElement.children].indexOf(sidebar(event)) });
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, point);
for (const kind of ["pointerout", "focusout"]) document.addEventListener(kind, (event) => sidebar(event) && player.point(null));
player.onPoint = (tokens) => {
  document.querySelectorAll(".view-sidebar .token").forEach((token, i) => token.classList.toggle("hot", [tokens?.source ?? []].flat().includes(i)));
};
