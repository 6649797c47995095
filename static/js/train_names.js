// What tells runs apart, in few words: family and task, where they differ; what sets each apart from its recipe; its seed.

import { familyName } from "./train_words.js";
import { inLanguage, say } from "./words.js";

export function shortNames(runs) {
  const kinds = told(runs, ({ job }) => kindsOf(job, runs));
  const marked = told(runs, ({ job }, i) => [kinds[i], ...job.marks.map(inLanguage)]);
  const seeded = told(runs, ({ job }, i) => [marked[i], alike(marked, i).some((j) => runs[j].job.seed !== job.seed) ? say("train.seed_is", { seed: job.seed }) : ""]);
  return runs.map(({ key, job }, i) => [seeded[i], alike(seeded, i).length > 1 ? key.slice(0, 4) : ""].filter(Boolean).join(" · ") || inLanguage(job.title));
}

const told = (runs, parts) => runs.map((run, i) => parts(run, i).filter(Boolean).join(" · "));
const alike = (names, i) => names.flatMap((name, j) => (name === names[i] ? [j] : []));

function kindsOf(job, runs) {
  const differs = (kind) => runs.some((one) => one.job[kind] !== job[kind]);
  return [differs("family") ? familyName(job.family) : "", differs("task") ? inLanguage(job.task_title) : ""];
}
