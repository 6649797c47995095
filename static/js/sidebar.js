// The parts of the sidebar that change with every letter typed: tokens, the answer, a refusal; the list of runs, with those
// trained in this browser (app/sidebar.py describes the rest).

import { offer } from "./components.js";
import { make } from "./dom.js";
import { sentences } from "./sentences.js";
import { chooseInput, chooseRun, refreshRuns } from "./session.js";
import { on, set, show, shown, state } from "./store.js";
import { forgetKey, nameOf, rememberName } from "./train_keys.js";
import { inLanguage, language, loadWords, say } from "./words.js";

const PAUSE_MS = 350; // after the last key, before the input is read
const ANOTHER = "checkpoint:?"; // no run: opens the form (app/components/checkpoint_card.py)
const isCheckpoint = (name) => name.startsWith("checkpoint:");
let timer = null;

on(["typed"], () => {
  clearTimeout(timer);
  if (!shown.look || (state.typed === shown.look.text && !shown.problem)) return; // it follows the input
  timer = setTimeout(() => chooseInput({ text: state.typed }), PAUSE_MS);
});
on(["look"], () => {
  if (shown.look && !document.activeElement?.closest("#input")) set({ typed: shown.look.text });
});
on(["picked"], () => {
  if (state.picked && state.picked !== state.run && !isCheckpoint(state.picked)) chooseRun(state.picked);
});
on(["opened"], async () => {
  if (!state.opened || state.opened !== state.picked || state.opened === state.run) return;
  await refreshRuns();
  chooseRun(state.opened);
});
on(["loading", "story"], () => {
  if (state.run && !shown.loading && !(shown.problem && isCheckpoint(state.picked))) set({ picked: state.run, opened: null });
});
on(["runs", "run", "language"], async () => {
  await loadWords();
  offer("picked", choices(shown.runs));
  document.documentElement.toggleAttribute("data-own-run", shown.runs.some(({ name, own }) => own && name === state.run));
});

// Shipped runs, those trained here, checkpoints, and the way to another of these.
export function choices(runs) {
  const kind = ({ own, checkpoint }) => (checkpoint ? 2 : own ? 1 : 0), prefix = ["", say("run_mine"), say("checkpoint.one")];
  const listed = [...runs].sort((a, b) => kind(a) - kind(b)).map((run) => [[prefix[kind(run)], nameOf(run.name) ?? inLanguage(run.title)].filter(Boolean).join(" · "), run.name]);
  return [...listed, [say("checkpoint.another_one"), ANOTHER]];
}

Object.assign(window.innerview, {
  typed: (text) => document.activeElement?.closest("#input") && set({ typed: text }),
  another() {
    clearTimeout(timer);
    chooseInput({ heldOut: (state.heldOut + 1) % 1000 });
  },
  leave: (key) => set({ [key]: state.run }),
  nameOfRun: () => nameOf(state.run) ?? inLanguage(shown.story.title),
  renameRun(name) {
    rememberName(state.run, name.trim() === inLanguage(shown.story.title) ? "" : name.trim());
    show({ runs: shown.runs });
  },
  forgetRun() {
    const gone = state.run, left = shown.runs.filter(({ name }) => name !== gone);
    forgetKey(gone);
    show({ runs: left, jobs: shown.jobs.filter(({ key }) => key !== gone) });
    chooseRun(left[0].name);
  },
});

export async function refusal(element) {
  await loadWords();
  const problem = element.appendChild(make("p", { class: "problem", role: "alert", hidden: true }));
  on(["problem"], () => {
    problem.hidden = !shown.problem;
    problem.textContent = shown.problem ? sentences(shown.problem, shown.look ? say("still") : "") : "";
  });
}

export async function tokens(element) {
  await loadWords();
  element.setAttribute("role", "group");
  element.addEventListener("keydown", walk);
  const draw = () => {
    if (!shown.look) return;
    element.setAttribute("aria-label", say("input_tokens"));
    element.replaceChildren(...shown.look.axes.source.map((token, i) => make("button", {
      type: "button", class: "token", title: say("token_help"), tabindex: i ? -1 : 0, onclick: () => set({ time: i, query: i, key: state.key ?? i }),
    }, token)));
  };
  on(["look", "language"], draw);
  draw();
}

// One stop of the tab key for all tokens; arrow keys move among them.
function walk(event) {
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = [...event.currentTarget.children];
  const at = all.indexOf(event.target);
  if (!move || at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = all[Math.max(0, Math.min(all.length - 1, at + move))];
  for (const token of all) token.tabIndex = token === next ? 0 : -1;
  next.focus();
}

export async function answer(element) {
  await loadWords();
  const draw = () => {
    const { said = [], shares, right } = shown.look?.answers[state.snapshot] ?? shown.look?.answers.at(-1) ?? {};
    element.hidden = !said.length;
    element.replaceChildren(make("small", {}, say("it_says")), " ", ...said.map((text, i) => make("span", {
      class: `said ${right?.[i] ? "right" : right?.[i] === false ? "wrong" : ""}`, title: say("sure", { share: shares[i] }),
    }, text[language])));
  };
  on(["look", "snapshot", "language"], draw);
  draw();
}
