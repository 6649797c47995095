// Questions to the server. A refusal is a sentence in both languages and perhaps an option's name; it is thrown as a `Refusal`.

import { unpack } from "./payload.js";
import { inLanguage, say } from "./words.js";

export class Refusal extends Error {
  constructor(message, option = null) {
    super(message);
    this.option = option; // the control it is about, if it is about one
  }
}

const PAUSE_MS = 500;
const waiting = new Set();
export const onWait = (tell) => waiting.add(tell); // tell(sentence): an answer takes longer, and why; null: it is there

// A refusal that will pass, as that of a checkpoint on its way into memory, is waited for.
async function ask(path, body) {
  const tell = (sentence) => waiting.forEach((one) => one(sentence));
  let answer = await askOnce(path, body);
  if (!answer.wait) return answer;
  try {
    for (; answer.wait; answer = await askOnce(path, body)) {
      tell(answer.wait);
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  } finally {
    tell(null);
  }
  return answer;
}

async function askOnce(path, body) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, body && {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    throw new Refusal(say("offline"));
  }
  if (answer.ok) return answer;
  const problem = await answer.json().then((told) => told.problem, () => null); // an answer of ours, or a proxy's page
  if (!problem) throw new Refusal(say("server_error", { status: answer.status }));
  if (problem.again) return { wait: inLanguage(problem) };
  throw new Refusal(inLanguage(problem), problem.option);
}

export const getRuns = async () => (await ask("runs")).json();
export const getStory = async (name) => (await ask(`runs/${encodeURIComponent(name)}`)).json();
export const getLook = async (question) => unpack(await (await ask("look", question)).arrayBuffer());
export const askJson = async (path, body) => (await ask(path, body)).json();
export const askArrays = async (path, body) => unpack(await (await ask(path, body)).arrayBuffer());
export const askBlob = async (path, body) => (await ask(path, body)).blob();
export const askText = async (path, body) => (await ask(path, body)).text();
