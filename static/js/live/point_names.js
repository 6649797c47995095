// Names beside points, none over another or over a point: each takes the nearest free place around its own.

const LETTER = 0.63, WIDE_LETTER = 1.08, LINE = 1.23; // of the type size: its letters, a line of it
const POINT = 7; // px: half of a point
const DISTANCES = [15, 24, 34]; // px from the point
const AROUND = 12; // directions tried
const NARROW = 380; // px of a plot whose lines are named in a legend
const FAMILY = 'ui-monospace, Menlo, "Noto Sans Mono CJK SC", monospace';

// {x, y, text, first, …} as app/figures/live.py's PointNames → Plotly annotations; points that are no numbers have none
export function namesBeside({ x, y, text, first, colours, lines, legend }, plot) {
  const { xaxis, yaxis, font: { size, color }, width, height } = plot._fullLayout, accent = plot._fullLayout.colorway[0];
  if (legend && xaxis._length < NARROW) return [];
  const px = (xs, ys) => Array.from(xs, (_, i) => ({ x: xaxis.d2p(xs[i]), y: yaxis.d2p(ys[i]) })), up = (value) => (yaxis.type === "log" ? Math.log10(value) : value);
  const path = Array.from(x, (_, i) => ({ i, x: xaxis.d2p(x[i]), y: yaxis.d2p(y[i]), text: text[i] })).filter((point) => Number.isFinite(point.x + point.y));
  const wanted = [...new Set([...first, ...path.map(({ i }) => i)])].flatMap((i) => path.filter((point) => point.i === i));
  return beside(wanted, lines.length ? lines.map((line) => px(...line)) : [path], { width: xaxis._length || width, height: yaxis._length || height, size }).map(({ i, dx, dy }) => ({
    x: x[i], y: up(y[i]), xshift: dx, yshift: -dy, text: text[i], showarrow: false, borderpad: 0, font: { ...(colours.length ? {} : { family: FAMILY }), size, color: colours[i] ?? (i === first[0] ? accent : color) },
  }));
}

// points: [{x, y, text, …}] in px, the most wanted first; paths: points joined by lines, kept clear where that is possible
// → those that found room, with the shift {dx, dy} of their name
function beside(points, paths, { width, height, size }) {
  const taken = points.map(({ x, y }) => ({ x, y, width: 2 * POINT, height: 2 * POINT })), placed = [];
  const lines = paths.flatMap((path) => path.slice(1).map((end, i) => [path[i], end]));
  for (const point of points) {
    const name = { width: widthOf(point.text, size), height: LINE * size };
    const free = places(point, name, size).filter((box) => inside(box, width, height) && !taken.some((other) => meet(box, other)));
    const found = free.find((box) => !lines.some((line) => crosses(line, box))) ?? free[0];
    if (!found) continue;
    taken.push(found);
    placed.push({ ...point, dx: found.x - point.x, dy: found.y - point.y });
  }
  return placed;
}

const plain = (text) => text.replace(/&\w+;/g, "x"); // what is escaped is one letter
const widthOf = (text, size) => [...plain(text)].reduce((sum, letter) => sum + (letter > "\u2e7f" ? WIDE_LETTER : LETTER) * size, 2);
const meet = (a, b) => Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2;
const inside = (box, width, height) => box.x - box.width / 2 > 0 && box.x + box.width / 2 < width && box.y - box.height / 2 > 0 && box.y + box.height / 2 < height;

function places({ x, y }, name, size) {
  return DISTANCES.flatMap((far) => Array.from({ length: AROUND }, (_, i) => {
    const angle = (-Math.PI / 4) + (2 * Math.PI * i) / AROUND, side = Math.cos(angle);
    return { ...name, x: x + far * side + (Math.sign(side.toFixed(6)) * (name.width - LETTER * size)) / 2, y: y + far * Math.sin(angle) };
  }));
}

// does a line pass through the middle of a box? (Liang and Barsky's clipping)
function crosses([a, b], { x, y, width, height }) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  let [from, to] = [0, 1];
  for (const [step, room] of [[-dx, a.x - x + width / 2], [dx, x + width / 2 - a.x], [-dy, a.y - y + height / 3], [dy, y + height / 3 - a.y]]) {
    if (step === 0 && room < 0) return false;
    if (step < 0) from = Math.max(from, room / step);
    if (step > 0) to = Math.min(to, room / step);
  }
  return from < to;
}
