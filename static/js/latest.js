// Questions that follow the playhead: asked when it rests, each answer kept, one that comes too late dropped.

import { Refusal } from "./api.js";

const MOST_KEPT = 120;

export class Latest {
  // ask(question) → promise; take(answer, question), refuse(sentence); pause: ms of rest before it asks
  constructor({ ask, take, refuse = () => {}, pause = 90, most = MOST_KEPT }) {
    Object.assign(this, { ask, take, refuse, pause, most });
    this.kept = new Map();
    this.wanted = null;
  }

  // true: the answer was at hand and has been taken
  want(question) {
    const key = JSON.stringify(question);
    clearTimeout(this.timer);
    this.wanted = key;
    if (this.kept.has(key)) {
      this.take(this.kept.get(key), question);
      return true;
    }
    if (this.asking !== key) this.timer = setTimeout(() => this.fetch(question, key), this.pause);
    return false;
  }

  forget() {
    clearTimeout(this.timer);
    this.wanted = null;
  }

  async fetch(question, key) {
    this.asking = key;
    try {
      const answer = await this.ask(question);
      if (this.kept.size >= this.most) this.kept.delete(this.kept.keys().next().value);
      this.kept.set(key, answer);
      if (key === this.wanted) this.take(answer, question);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (key === this.wanted) this.refuse(error.message);
    } finally {
      if (this.asking === key) this.asking = null;
    }
  }
}
