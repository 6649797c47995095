// One's own data: a file is dropped or chosen, and how it was read is shown before anything is trained on it.

import { askJson, Refusal } from "./api.js";
import { make } from "./dom.js";
import { on, show, shown, state } from "./store.js";
import { visibleToken } from "./train_words.js";
import { inLanguage, say } from "./words.js";

const MOST_BYTES = 5_000_000;
const ENDINGS = ".txt,.csv,.tsv,.jsonl,.ndjson";
const MARKS = { "255,254": "utf-16le", "254,255": "utf-16be" }; // what a file may begin with to say how it is written

// use(name): the file's task is chosen
export function mountFile(parent, use) {
  const input = make("input", { type: "file", accept: ENDINGS, id: "train-file", class: "file-input", onchange: () => input.files[0] && read(input.files[0]) });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const drop = make("label", { class: "drop", for: "train-file", title: say("train.file_kinds") }, input, make("b", {}, say("train.own_file")), " ", make("small", {}, say("train.drop_here")));
  const report = make("div", { class: "file-report", hidden: true });
  parent.append(drop, problem, report);
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
  });

  async function read(file) {
    problem.hidden = true;
    try {
      const text = await textOf(file);
      const found = await askJson("train/file", { name: file.name, text });
      shown.file = { name: file.name, text, task: { ...found, name: found.kind } }; // there before it is told: nobody is to ask for the task of the last file
      use(found.kind);
      show({ file: shown.file });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      input.value = ""; // the same file, mended, can be chosen again
    }
  }

  on(["file", "recipe"], () => {
    report.hidden = shown.file?.task.name !== state.recipe.task;
    if (!report.hidden) report.replaceChildren(...reportOf(shown.file));
  });
}

async function textOf(file) {
  if (file.size > MOST_BYTES) throw new Refusal(say("train.file_large", { name: file.name, size: file.size / 1e6, most: MOST_BYTES / 1e6 }));
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return new TextDecoder(MARKS[bytes.slice(0, 2).join()] ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(say("train.file_not_text", { name: file.name, line: lineOfFirstOdd(bytes) }));
  }
}

// the line that cannot be read as UTF-8: found by reading line by line
function lineOfFirstOdd(bytes) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1, from = 0;
  for (let i = 0; i <= bytes.length; i++) {
    if (i < bytes.length && bytes[i] !== 10) continue;
    try {
      decoder.decode(bytes.subarray(from, i));
    } catch {
      return line;
    }
    line++;
    from = i + 1;
  }
  return line - 1;
}

function reportOf({ name, task: { title, help, rows, held_out: heldOut, first, vocabulary, labels } }) {
  const cells = (...texts) => texts.filter((text) => text !== "").map((text) => make("td", { title: text }, text));
  return [
    make("p", {}, make("b", {}, name), " → ", inLanguage(title), say("train.comma"), inLanguage(help)),
    make("small", {}, say("train.file_rows", { rows, held_out: heldOut })),
    make("div", { class: "file-rows" }, make("table", {}, ...first.map(({ problem, answer }) => make("tr", {}, ...cells(problem, answer))))),
    make("small", {}, say("train.file_words", { size: vocabulary.size, tokens: vocabulary.tokens.slice(3, 27).map(visibleToken).join(" ") })),
    labels?.length ? make("small", {}, say("train.file_labels", { labels: labels.slice(0, 12).join(say("train.comma")) })) : null,
  ].filter(Boolean);
}
