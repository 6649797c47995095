// Does a unit hold its state, let it fade, or write it anew? Told from both terms of its own equation, step by step.

import { about, tokens, values, working } from "./gates_data.js";
import { sentences } from "./sentences.js";
import { quoted } from "./token_labels.js";
import { say } from "./words.js";

const KEEPER = { lstm: "forget", gru: "update" }; // the gate that keeps the old state
const STATE = { lstm: "cell", gru: "hidden" };
const SOME = 0.1; // of the steps: fewer are exceptions
const WHOLE = 0.9; // of the old state kept at a step: less is fading
const MOST_NAMED = 3; // kinds of token that are named

const halves = (logs) => Math.log(0.5) / (logs.reduce((sum, log) => sum + log, 0) / logs.length);

// Per step that finds something to keep, in the order of the tokens: {t, gate, old, fresh}, the terms of
// c_t = f c_before + i g or of h_t = z h_before + (1 − z) n.
function steps(unit, moment) {
  const { kind, backwards } = about(), at = (name, t) => values(name).value(moment, t, unit), count = tokens().length;
  return tokens().map((_, t) => {
    const earlier = backwards ? t + 1 : t - 1, gate = at(KEEPER[kind], t);
    const before = earlier >= 0 && earlier < count ? at(STATE[kind], earlier) : working(`${STATE[kind]}.first`).value(moment, unit);
    const fresh = kind === "lstm" ? at("input", t) * at("candidate", t) : (1 - gate) * at("candidate", t);
    return { t, gate, before, old: gate * before, fresh };
  }).filter(({ before }) => before !== 0);
}

// {how: "holds" | "fades" | "switches" | "mixed" | "anew", kept, fresh, share, held}: `share` of the old state is kept at
// the steps where most of the state is old (geometric mean); at that rate half is left after `held` steps.
export function memoryOf(unit, moment) {
  const all = steps(unit, moment), kept = all.filter(({ old, fresh }) => Math.abs(old) >= Math.abs(fresh)), fresh = all.filter((step) => !kept.includes(step));
  if (!all.length) return null;
  const logs = kept.map(({ gate }) => Math.log(Math.min(1 - 1e-6, Math.max(1e-6, gate))));
  const share = Math.exp(logs.reduce((sum, log) => sum + log, 0) / Math.max(1, logs.length)), whole = share >= WHOLE;
  const how = kept.length <= SOME * all.length ? "anew" : fresh.length <= SOME * all.length ? (whole ? "holds" : "fades") : whole ? "switches" : "mixed";
  return { how, steps: all, kept, fresh, share, held: halves(logs) };
}

export const hasMemory = () => about().kind in KEEPER;
export const keeperName = () => say(`gates.gate.${KEEPER[about().kind]}`);

// What one unit does with its state, and what its keeping gate alone says.
export function memoryWords(unit, moment) {
  const found = memoryOf(unit, moment), steps = working("half_life").value(moment, unit), length = tokens().length;
  if (!found) return say("gates.half_life", { gate: keeperName(), steps, length });
  const { how, steps: all, kept, fresh, share, held } = found;
  const of = say(all.length < length ? "gates.memory.after_first" : "gates.memory.tokens", { n: all.length });
  const said = say(`gates.memory.${how}`, { kept: kept.length, fresh: fresh.length, tokens: of, share, where: where(fresh, all) });
  const number = say(how === "switches" ? "gates.half_life_held" : "gates.half_life", { gate: keeperName(), steps, held, length });
  return sentences(said, number);
}

export function memoryCaption(lives, moment) {
  const best = lives.indexOf(Math.max(...lives)), middle = [...lives].sort((a, b) => a - b)[lives.length >> 1];
  const many = Array.from(lives).filter((_, unit) => memoryOf(unit, moment)?.how === "switches").length;
  const said = say("gates.memory_caption", { gate: keeperName(), unit: best, steps: lives[best], middle });
  return sentences(said, many && say("gates.memory_switches", { many, units: lives.length }));
}

// Where it is written anew, if that is at every token of some kinds and at no other.
function where(fresh, all) {
  const named = (steps) => new Set(steps.map(({ t }) => tokens()[t])), kinds = named(fresh), others = named(all.filter((step) => !fresh.includes(step)));
  const told = kinds.size <= MOST_NAMED && others.size && [...kinds].every((kind) => !others.has(kind));
  return told ? say("gates.memory.where", { tokens: [...kinds].map(quoted).join(say("gates.or")) }) : "";
}

