// The steps of one run as columns, with smoothed ones beside them; after a rewind the earlier ones stay as a ghost.

export const COLUMNS = ["step", "loss", "accuracy", "lr", "grad_norm", "tokens_per_s"];
const smoothing = (count) => Math.max(0.05, Math.min(1, 2 / Math.sqrt(count))); // little at first, where much happens in few steps
export const SMOOTHED = ["loss", "accuracy", "grad_norm", "tokens_per_s"];

export class History {
  constructor() {
    this.ghost = null; // {columns, smooth} from before a rewind
    this.columns = Object.fromEntries(COLUMNS.map((name) => [name, []]));
    this.smooth = Object.fromEntries(SMOOTHED.map((name) => [name, []]));
  }

  get length() {
    return this.columns.step.length;
  }

  get last() {
    return this.columns.step.at(-1) ?? 0;
  }

  // Rows of [step, loss, accuracy, lr, grad_norm, tokens_per_s] that replace everything after a step.
  // Without rows it is a rewind, and true: what there was stays to be compared with, unless a longer ghost is there already.
  take(after, rows) {
    const rewound = !rows.length && after < this.last;
    if (rewound && this.length > (this.ghost?.columns.step.length ?? 0)) {
      this.ghost = { columns: this.columns, smooth: this.smooth };
    }
    if (after < this.last) this.cut(this.columns.step.filter((step) => step <= after).length);
    for (const row of rows) this.push(row);
    return rewound;
  }

  cut(count) {
    for (const part of ["columns", "smooth"]) {
      this[part] = Object.fromEntries(Object.entries(this[part]).map(([name, values]) => [name, values.slice(0, count)]));
    }
  }

  push(row) {
    COLUMNS.forEach((name, i) => this.columns[name].push(row[i]));
    for (const name of SMOOTHED) {
      const value = row[COLUMNS.indexOf(name)], before = this.smooth[name].at(-1);
      this.smooth[name].push(before == null || value == null ? value ?? before ?? null : before + smoothing(this.length) * (value - before));
    }
  }

  // How many losses were repeated after a rewind, and the first step whose loss is another one.
  repeated() {
    if (!this.ghost || !this.length) return null;
    const { step, loss } = this.columns, before = new Map(this.ghost.columns.step.map((at, i) => [at, this.ghost.columns.loss[i]]));
    let same = 0;
    for (let i = 0; i < step.length; i++) {
      if (!before.has(step[i])) continue;
      if (before.get(step[i]) !== loss[i]) return { same, differs: step[i] };
      same++;
    }
    return { same, differs: null };
  }
}
