// The name, what concerns the whole page (links, files, language, ground, type), ways past it for the keyboard, and what is
// to be said of the page as a whole: that something is on its way, that a link was wrong, that the app does not answer.

import { link, reload } from "./address.js";
import { askBlob } from "./api.js";
import { make } from "./dom.js";
import { pageOf, save } from "./live/exports.js";
import { player } from "./live/page.js";
import { walkRadios } from "./radio_keys.js";
import { on, set, show, shown, state } from "./store.js";
import { language, say, speak } from "./words.js";

const PATIENCE_MS = 300; // what comes sooner needs no sign
const COPIED_MS = 1600;
const CHAIN = "M9.5 6.5l-3 3M7 4.5l1.2-1.2a3 3 0 0 1 4.3 4.3L11.3 8.8M9 11.5l-1.2 1.2a3 3 0 0 1-4.3-4.3L4.7 7.2";
let sign = null, awaited = 0, timer = null;

export function mountHeader(parent) {
  const spoken = []; // how to say everything again, in another language
  const saying = (speak) => { spoken.push(speak); speak(); };
  const button = (classes, sign, words, act) => {
    const made = make("button", { type: "button", class: classes, onclick: act }, sign);
    saying(() => { made.ariaLabel = made.title = say(words); });
    return made;
  };
  const skip = (words, target) => {
    const made = make("button", { type: "button", class: "skip", onclick: () => document.querySelector(target)?.focus() });
    saying(() => { made.textContent = say(words); });
    return made;
  };
  sign = make("div", { class: "busy", role: "status" });
  const banner = make("div", { class: "banner", role: "alert", hidden: true }), told = make("span"), keys = keysDialog(saying);
  banner.append(told, button("close", "✕", "close", () => show({ linkProblem: null })));
  const copy = button("copy-link", make("svg", { viewBox: "0 0 16 16", width: 16, height: 16 }, make("path", { d: CHAIN })), "copy_link", () => copyLink(copy));
  parent.append(
    skip("skip_to_pictures", "#tabs [role=tab].selected"), skip("skip_to_timeline", ".timeline .plot"),
    make("a", { class: "logo", href: "./" }, "Inner", make("i", {}, "View")),
    make("div", { class: "tools" }, copy,
      button("keep-tab", "⤓", "keep_tab", () => busy(keepTab())),
      button("keep-run", "⤓ ZIP", "keep_run", () => busy(keepRun())),
      button("large-type", "A+", "large_type", () => set({ large: !state.large })),
      button("language", "EN / 中文", "switch_language", switchLanguage),
      button("ground", "◐", "switch_ground", switchGround),
      button("show-keys", "?", "keys.title", () => keys.showModal())),
    sign, banner, keys,
  );
  const telling = () => {
    told.textContent = shown.offline ? say("lost") : shown.linkProblem ?? "";
    banner.hidden = !told.textContent;
    banner.classList.toggle("lost", Boolean(shown.offline));
  };
  on(["offline", "linkProblem", "language"], telling);
  on(["language"], () => spoken.forEach((speak) => speak()));
  on(["large"], () => {
    document.documentElement.toggleAttribute("data-large", state.large);
    dispatchEvent(new Event("resize"));
  });
  let loading = false;
  const follow = () => {
    if (loading !== Boolean(shown.loading)) waitFor((loading = !loading) ? 1 : -1);
  };
  on(["loading"], follow);
  follow();
  telling();
  document.addEventListener("keydown", walkTabs);
  document.addEventListener("keydown", walkRadios);
  document.addEventListener("keydown", (event) => {
    if (event.key === "?" && !event.target.closest?.("input, textarea, select")) keys.showModal();
  });
}

function keysDialog(saying) {
  const rows = make("dl"), title = make("h3"), close = make("button", { class: "small" });
  saying(() => {
    title.textContent = say("keys.title");
    close.textContent = say("close");
    rows.replaceChildren(...["time", "play", "ends", "picture", "tabs", "escape", "help"].flatMap((name) => [make("dt", {}, say(`keys.${name}`)), make("dd", {}, say(`keys.${name}.does`))]));
  });
  return make("dialog", { class: "keys" }, make("form", { method: "dialog" }, title, rows, close));
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

async function copyLink(button) {
  const address = link(), before = [...button.childNodes];
  try {
    await navigator.clipboard.writeText(address);
    button.replaceChildren("✓");
    setTimeout(() => button.replaceChildren(...before), COPIED_MS);
  } catch {
    prompt(say("copy_link"), address); // the clipboard is closed to pages without https, and to some frames
  }
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

// In place; where a tab is still drawn by scripts that have said what they say, or Gradio does not follow, the page is
// loaded again, and its address brings everything back.
async function switchLanguage() {
  set({ chosenLanguage: true });
  const followed = await speak(language === "zh" ? "en" : "zh");
  set({ language });
  if (!followed || document.querySelector("#tabs [data-view]:not(:empty)")) reload();
}

function switchGround() {
  document.body.classList.toggle("dark");
  set({ chosenTheme: true });
}
