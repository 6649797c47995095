// Fine-tuned against from scratch: accuracy by the number of labelled examples, from the runs that came with the app.

import { askArrays } from "./api.js";
import { make } from "./dom.js";
import { Picture } from "./live/picture.js";
import { say, sayInto } from "./words.js";

export async function drawFineTuning(host) {
  const { figures, arrays, first_steps, steps } = await askArrays("fine-tuning/figure");
  const section = host.appendChild(make("section", { class: "fine-tuning" })), picture = new Picture(section, { className: "fine-tuning-figure" });
  const lead = make("p", { class: "fine-tuning-lead" });
  sayInto(lead, say("fine_tuning.lead", { first_steps, steps }));
  picture.plot.before(lead);
  picture.show(figures.accuracy, arrays);
}
