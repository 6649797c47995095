// What the curves of a run say, in a sentence or two: read off its steps.

import { inLanguage, language, say } from "./words.js";

const LASTLY = 20; // steps that are averaged for "now"

export function captionOf({ job, history, moments }) {
  const { loss, accuracy, step } = history.columns;
  if (!step.length) return repeatWords(history) || say(job.status === "queued" ? "train.caption_queued" : "train.caption_waits");
  const now = mean(accuracy.slice(-LASTLY)), said = [];
  const facts = { step: step.at(-1), now, chance: job.chance, goal: job.goal, first: loss[0], last: mean(loss.slice(-LASTLY)) };
  const solved = moments.find(({ text }) => text.en === "the task is solved");
  const odd = job.chance + 0.1 * (1 - job.chance);
  if (solved) said.push(say("train.caption_solved", { ...facts, solved: solved.step }));
  else if (now < odd) said.push(say("train.caption_chance", facts));
  else said.push(say(job.goal != null && now >= job.goal ? "train.caption_goal" : "train.caption_learning", facts));
  said.push(say("train.caption_loss", { first: Number(facts.first.toPrecision(3)), last: Number(facts.last.toPrecision(3)) }));
  if (["done", "stopped"].includes(job.status) && job.accuracy != null) said.push(say("train.caption_held_out", { share: job.accuracy }));
  const latest = moments.at(-1);
  if (latest && latest !== solved) said.push(say("train.caption_moment", { step: latest.step, what: inLanguage(latest.text) }));
  return [...said, repeatWords(history)].filter(Boolean).join(language === "zh" ? "" : " ");
}

function repeatWords(history) {
  const found = history.repeated();
  if (!found) return history.ghost ? say("train.rewound") : null;
  return found.differs === null ? say("train.repeated", found) : say("train.not_repeated", found);
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
