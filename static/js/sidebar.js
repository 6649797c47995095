// What is being looked at: the run, its input, the moment; the same beside every tab.

import { ANOTHER, isCheckpoint, Loader, runOptions } from "./checkpoints.js";
import { make } from "./dom.js";
import { chooseInput, chooseRun } from "./session.js";
import { sentences } from "./sentences.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, language, say, sayInto } from "./words.js";

const PAUSE_MS = 350; // after the last key, before the input is read

export function mountSidebar(parent) {
  const picker = make("select", { id: "run", "aria-label": say("run"), onchange: () => pick(picker.value) });
  const facts = make("small"), pills = make("div", { class: "pills" }), lead = make("p", { class: "lead" });
  const box = make("textarea", { id: "input", rows: 2, "aria-label": say("input"), spellcheck: "false", maxlength: 20000 });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const tokens = make("div", { class: "tokens", role: "group", "aria-label": say("input_tokens"), onkeydown: (event) => walk(event, tokens) });
  const hint = make("small", { class: "hint" });
  const answer = make("div", { class: "answer" });
  const step = make("b", { class: "step" }), of = make("small"), moment = make("p", { class: "amber" });
  const run = make("div", { class: "card run" }, picker), atMoment = card(say("moment"), make("div", { class: "card" }, step, " ", of, moment));
  const loader = new Loader(run, { onReady: (name) => chooseRun(name), onLeave: () => { picker.value = state.run; } });
  const pick = (name) => (name === ANOTHER ? loader.ask() : isCheckpoint(name) ? loader.offer(name) : (loader.hide(), chooseRun(name)));
  run.append(facts, pills, lead);
  let timer;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => chooseInput({ text: box.value }), PAUSE_MS);
  });
  const another = make("button", { type: "button", class: "small", onclick: () => {
    clearTimeout(timer);
    chooseInput({ heldOut: (state.heldOut + 1) % 1000 });
  } }, say("held_out_next"));
  parent.append(
    card(say("looking_at"), run),
    make("details", { class: "more", open: !window.matchMedia("(max-width: 900px)").matches },
      make("summary", {}, say("input_and_moment")),
      card(say("input"), make("div", { class: "card" }, box, problem, hint, tokens, answer, another)),
      atMoment,
      card(say("changes"), make("div", { class: "card" }, make("small", {}, say("changes_none"))))),
  );

  on(["runs"], () => {
    picker.replaceChildren(...runOptions(shown.runs));
    if (state.run) picker.value = state.run;
  });
  on(["story"], () => {
    const story = shown.story;
    picker.value = story.name;
    facts.textContent = [say(`family.${story.family}`), ...shapeWords(story.shape), say("parameters", { n: story.parameters })].join(" · ");
    const measured = typeof story.accuracy === "number"; // a run that is being trained is not, yet
    const made = story.checkpoint ? [say("checkpoint.pill")] : [measured ? say("held_out_share", { share: story.accuracy }) : say("not_measured")];
    if (story.ceiling) made.push(say("at_best", { share: story.ceiling }));
    for (const [n, share] of Object.entries(story.accuracy_by_length ?? {})) made.push(say("at_length", { n, share }));
    if (!story.checkpoint) made.push(say("seed", { seed: story.seed }));
    pills.replaceChildren(...made.map((text) => make("span", { class: "pill" }, text)));
    sayInto(lead, inLanguage(story.lead));
    hint.textContent = sentences(inLanguage(story.about), ...(story.checkpoint ? checkpointHints(story) : [alphabet(story.alphabet)]));
    another.textContent = say(story.checkpoint ? "checkpoint.another" : "held_out_next");
    atMoment.hidden = Boolean(story.checkpoint);
    box.rows = story.checkpoint ? 4 : 2;
  });
  on(["look"], () => {
    if (document.activeElement !== box) box.value = shown.look.text;
    tokens.replaceChildren(...shown.look.axes.source.map((token, i) => make("button", {
      type: "button", class: "token", title: say("token_help"), tabindex: i ? -1 : 0, onclick: () => set({ time: i, query: i, key: state.key ?? i }),
    }, token)));
  });
  on(["problem"], () => {
    problem.hidden = !shown.problem;
    problem.textContent = shown.problem ? sentences(shown.problem, say("still")) : "";
    if (shown.problem && state.run) picker.value = state.run;
  });
  on(["look", "snapshot", "story"], () => {
    if (!shown.story || !shown.look) return;
    const { snapshots, steps, planned, moments } = shown.story, at = snapshots[state.snapshot];
    step.textContent = say("step", { step: at });
    const made = steps.at(-1) ?? 0;
    of.textContent = made < planned ? say("of_planned", { made, planned }) : say("of", { last: made });
    const just = moments.filter((m) => m.step <= at && m.step > (snapshots[state.snapshot - 1] ?? -1));
    moment.textContent = just.map((m) => `◆ ${inLanguage(m.text)}`).join("\n");
    sayAnswer(answer, shown.look.answers[state.snapshot] ?? shown.look.answers.at(-1));
  });
}

const card = (title, body) => make("section", {}, make("h4", {}, title), body);

// One stop of the tab key for all tokens; arrow keys move among them.
function walk(event, tokens) {
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = [...tokens.children];
  const at = all.indexOf(event.target);
  if (!move || at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = all[Math.max(0, Math.min(all.length - 1, at + move))];
  for (const token of all) token.tabIndex = token === next ? 0 : -1;
  next.focus();
}

function shapeWords({ n_layers, n_heads, d_hidden, position }) {
  const size = n_heads ? say(n_heads === 1 ? "layers_head" : "layers_heads", { layers: n_layers, heads: n_heads }) : say("layers_units", { layers: n_layers, units: d_hidden });
  return position ? [size, say("positions_are", { scheme: say(`pos.scheme.${position}`) })] : [size];
}

const checkpointHints = ({ checkpoint, family, form }) => [say("checkpoint.vocabulary", { n: checkpoint.vocabulary }), family === "bert" && form !== "stream" ? say("checkpoint.pair") : ""];

function alphabet(tokens) {
  const some = tokens.length > 14 ? [...tokens.slice(0, 11), "…", tokens.at(-1)] : tokens;
  return say("tokens_are", { tokens: some.join(" ") });
}

// What the model says at this moment: right ones green; wrong ones red, if the right answer could be known.
function sayAnswer(element, { said, shares, right }) {
  element.hidden = !said.length;
  element.replaceChildren(make("small", {}, say("it_says")), " ", ...said.map((text, i) => make("span", {
    class: `said ${right?.[i] ? "right" : right?.[i] === false ? "wrong" : ""}`, title: say("sure", { share: shares[i] }),
  }, text[language])));
}
