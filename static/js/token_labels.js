// Tokens as labels: any text, however long, whichever way it runs, measured once.

export const LABEL = 12; // px, the usual type size
const SMALLEST = 9, LARGEST = 18; // where there is little room, and on a projector
const NUMBERED = 24, NUMBER_ROOM = 26, STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]; // so many plain numbers are an axis with ticks, px apart
export const fontOf = (size) => `${size}px ui-monospace, Menlo, "Noto Sans Mono CJK SC", monospace`;
const MOST_LABEL = 92; // px; longer tokens are cut with …
const MOST_KEPT = 5000;

// {size, every}: where each token has so many px, the type is that large, and every so-many-th has its name
export function fitted(room, tokens) {
  if (tokens.length > NUMBERED && tokens.every((token) => /^\d+$/.test(token))) {
    return { size: LABEL, every: STEPS.find((step) => step * room >= NUMBER_ROOM) ?? tokens.length };
  }
  const size = Math.max(SMALLEST, Math.min(Math.floor(room) - 1, Math.max(LABEL, Math.min(LARGEST, Math.floor(room * 0.45)))));
  return { size, every: Math.max(1, Math.ceil((size + 1) / room)) };
}

export const widthOf = (token, size) => (labelOf(token).width * size) / LABEL;

const ruler = document.createElement("canvas").getContext("2d");
const known = new Map();

// {text, width} of a token on an axis
export function labelOf(token) {
  if (!known.has(token)) {
    if (known.size > MOST_KEPT) known.clear();
    ruler.font = fontOf(LABEL);
    const text = cut(token);
    known.set(token, { text, width: ruler.measureText(text).width });
  }
  return known.get(token);
}

function cut(token) {
  const letters = [...token.slice(0, 200)]; // measuring costs by length
  if (token.length <= 200 && ruler.measureText(token).width <= MOST_LABEL) return token;
  let end = letters.length;
  while (end > 1 && ruler.measureText(`${letters.slice(0, end).join("")}…`).width > MOST_LABEL) end = Math.ceil(end * 0.8) - 1;
  return `${letters.slice(0, Math.max(1, end)).join("")}…`;
}

// at most so many letters of a token
export function shortened(token, most) {
  const letters = [...token.slice(0, 4 * most)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : token;
}

// a token inside other text: cut, and kept from turning it round when it runs from right to left
export const isolated = (token, most = 24) => `\u2068${shortened(token, most)}\u2069`;

// the same inside a sentence whose **stressed** parts are set in bold: its own stars stay stars
export const quoted = (token, most = 24) => isolated(token, most).replaceAll("**", "*\u2060*");
