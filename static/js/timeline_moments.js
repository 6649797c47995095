// Where the words of a run's moments stand above the curves: the most telling ones, in two rows, none over another.

export const BESIDE = 6; // px between a word and its own line
const APART = 10, MOST = 6; // px between two words; how many moments may have words
const PLACES = [0, 1].flatMap((row) => [false, true].map((before) => ({ row, before }))); // row 0 is next to the curves

// The run's own moments first, then heads with a telling role.
const rank = ({ head, text }) => (head === null ? 0 : /induction|alignment/.test(text.en) ? 1 : 2);

// What happened at one step belongs together: [[moment, …], …], the most telling first; of heads the one in focus.
export function together(moments, focus) {
  const before = (a, b) => rank(a) - rank(b) || (b.head === focus) - (a.head === focus) || a.step - b.step;
  const groups = new Map();
  for (const moment of [...moments].sort(before)) groups.set(moment.step, [...(groups.get(moment.step) ?? []), moment]);
  return [...groups.values()]; // in the order of their first
}

// wanted: [{moment, at, width}] by importance; → [{row, before} or null]: the best of all ways, there being few.
export function placeWords(wanted, left, end) {
  let best = { worth: -1, chosen: [] };
  const words = wanted.slice(0, MOST);
  const go = (i, placed, chosen, worth) => {
    if (i === words.length) {
      if (worth > best.worth) best = { worth, chosen };
      return;
    }
    const { moment, at, width } = words[i];
    for (const { row, before } of PLACES) {
      const from = before ? at - BESIDE - width : at + BESIDE, word = { row, at, from, to: from + width };
      if (from < left || word.to > end || placed.some((other) => meet(word, other) || cross(word, other) || cross(other, word))) continue;
      go(i + 1, [...placed, word], [...chosen, { row, before }], worth + 100 ** (2 - rank(moment)) - 0.1 * row - 0.01 * before);
    }
    go(i + 1, placed, [...chosen, null], worth);
  };
  go(0, [], [], 0);
  return wanted.map((_, i) => best.chosen[i] ?? null);
}

const meet = (a, b) => a.row === b.row && a.from < b.to + APART && b.from < a.to + APART;
// the line from a word of the upper row down to the curves, through a word of the lower one
const cross = (upper, lower) => upper.row > lower.row && upper.at > lower.from - 3 && upper.at < lower.to + 3;
