// The name, the two choices that concern the whole page (language and ground), ways past it for the keyboard, and a sign
// that something is on its way.

import { askBlob } from "./api.js";
import { make } from "./dom.js";
import { pageOf, save } from "./live/exports.js";
import { player } from "./live/page.js";
import { startOver } from "./session.js";
import { walkRadios } from "./radio_keys.js";
import { on, shown, state } from "./store.js";
import { say, switchLanguage } from "./words.js";

const PATIENCE_MS = 300; // what comes sooner needs no sign
let sign = null, awaited = 0, timer = null;

export function mountHeader(parent) {
  const skip = (words, target) => make("button", { type: "button", class: "skip", onclick: () => document.querySelector(target)?.focus() }, words);
  sign = make("div", { class: "busy", role: "status" });
  parent.append(
    skip(say("skip_to_pictures"), "#tabs [role=tab].selected"), skip(say("skip_to_timeline"), ".timeline .plot"),
    make("a", { class: "logo", href: "./", onclick: startOver }, "Inner", make("i", {}, "View")),
    make("div", { class: "tools" },
      make("button", { type: "button", class: "keep-tab", onclick: () => busy(keepTab()), "aria-label": say("keep_tab"), title: say("keep_tab") }, "⤓"),
      make("button", { type: "button", class: "keep-run", onclick: () => busy(keepRun()), "aria-label": say("keep_run"), title: say("keep_run") }, "⤓ ZIP"),
      make("button", { type: "button", onclick: switchLanguage, "aria-label": say("switch_language") }, "EN / 中文"),
      make("button", { type: "button", onclick: switchGround, "aria-label": say("switch_ground") }, "◐")),
    sign,
  );
  let loading = false;
  const follow = () => {
    if (loading !== Boolean(shown.loading)) waitFor((loading = !loading) ? 1 : -1);
  };
  on(["loading"], follow);
  follow();
  document.addEventListener("keydown", walkTabs);
  document.addEventListener("keydown", walkRadios);
}

// Shows that something is being waited for while a promise is open.
export function busy(promise) {
  const done = () => waitFor(-1);
  waitFor(1);
  promise.then(done, done);
  return promise;
}

function waitFor(change) {
  awaited += change;
  if (awaited && !timer) timer = setTimeout(() => mark(true), PATIENCE_MS);
  if (awaited) return;
  clearTimeout(timer);
  timer = null;
  mark(false);
}

// Not a class of the body: that would be another ground, and everything would be drawn again.
function mark(waiting) {
  document.documentElement.toggleAttribute("data-busy", waiting);
  if (sign) sign.textContent = waiting ? say("loading") : "";
}

async function keepRun() {
  const answer = await askBlob("site", { run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null });
  save(`innerview-${state.run}.zip`, answer);
}

// All pictures of the tab, and the timeline, as one page that scrubs from disk.
async function keepTab() {
  const figures = [...player.figures].filter(({ plot }) => plot.clientWidth && plot._fullLayout);
  if (figures.length) save(`innerview-${state.run}-${state.tab}.html`, await pageOf(figures, new URL("ours/page.html", document.baseURI)));
}

// Arrow keys go from tab to tab.
function walkTabs(event) {
  const tab = event.target.closest?.("#tabs [role=tab]"), move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!tab || !move) return;
  const all = [...tab.parentElement.querySelectorAll("[role=tab]")], next = all[(all.indexOf(tab) + move + all.length) % all.length];
  event.preventDefault();
  next.click();
  next.focus();
}

function switchGround() {
  document.body.classList.toggle("dark");
}
