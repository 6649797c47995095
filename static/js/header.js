// The name, and the two choices that concern the whole page: language and ground.

import { make } from "./dom.js";
import { keepForReload } from "./session.js";
import { say, switchLanguage } from "./words.js";

export function mountHeader(parent) {
  parent.append(
    make("a", { class: "logo", href: "./" }, "Inner", make("i", {}, "View")),
    make("div", { class: "tools" },
      make("button", { type: "button", onclick: () => { keepForReload(); switchLanguage(); }, "aria-label": say("switch_language") }, "EN / 中文"),
      make("button", { type: "button", onclick: switchGround, "aria-label": say("switch_ground") }, "◐")),
  );
}

function switchGround() {
  document.body.classList.toggle("dark");
}
