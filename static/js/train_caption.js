// What the curves of a run say, in a sentence or two: the same numbers as stand above them.

import { three } from "./train_numbers.js";
import { inLanguage, language, say } from "./words.js";

// What luck alone may reach; of a small chance a small part more is already something learnt.
const luck = (chance) => chance + Math.min(0.2 * chance, 0.1 * (1 - chance));

export function captionOf({ job, history, moments, again }) {
  const { length } = history;
  if (again) return say("train.caption_again");
  if (!length) return repeatWords(history) || say(job.status === "queued" ? "train.caption_queued" : "train.caption_waits");
  const { loss, accuracy } = history.smooth, now = accuracy.at(-1), said = [];
  const facts = { step: history.last, now, chance: job.chance, goal: job.goal };
  const solved = moments.find(({ text }) => text.en === "the task is solved");
  if (solved) said.push(say("train.caption_solved", { ...facts, solved: solved.step }));
  else if (now <= luck(job.chance) && !moments.some(({ text }) => text.en.endsWith("leaves chance"))) said.push(say("train.caption_chance", facts));
  else if (job.goal == null) said.push(say("train.caption_right", facts));
  else said.push(say(now >= job.goal ? "train.caption_goal" : "train.caption_learning", facts));
  if (length > 1) said.push(say("train.caption_loss", { first: three(loss[0]), last: three(loss.at(-1)) }));
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
