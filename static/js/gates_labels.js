// Names beside points, none over another or over a point: each takes the nearest free place around its own.

const TALL = 16, LETTER = 8.2, WIDE_LETTER = 14, POINT = 7; // px: a line of type, its letters, half of a point
const DISTANCES = [15, 24, 34]; // px from the point
const AROUND = 12; // directions tried

const widthOf = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? WIDE_LETTER : LETTER), 2);
const meet = (a, b) => Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2;

// points: [{x, y, text, …}] in px, the most wanted first; path: points joined by lines, kept clear where that is possible
// → those that found room, with the shift {dx, dy} of their name
export function beside(points, path, { width, height }) {
  const taken = points.map(({ x, y }) => ({ x, y, width: 2 * POINT, height: 2 * POINT })), placed = [];
  const lines = path.slice(1).map((end, i) => [path[i], end]);
  for (const point of points) {
    const size = { width: widthOf(point.text), height: TALL };
    const free = places(point, size).filter((box) => inside(box, width, height) && !taken.some((other) => meet(box, other)));
    const found = free.find((box) => !lines.some((line) => crosses(line, box))) ?? free[0];
    if (!found) continue;
    taken.push(found);
    placed.push({ ...point, dx: found.x - point.x, dy: found.y - point.y });
  }
  return placed;
}

function places({ x, y }, size) {
  return DISTANCES.flatMap((far) => Array.from({ length: AROUND }, (_, i) => {
    const angle = (-Math.PI / 4) + (2 * Math.PI * i) / AROUND, side = Math.cos(angle);
    return { ...size, x: x + far * side + (Math.sign(side.toFixed(6)) * (size.width - LETTER)) / 2, y: y + far * Math.sin(angle) };
  }));
}

// y runs from −height at the top to 0 at the foot
const inside = ({ x, y, width: w }, width, height) => x - w / 2 > 0 && x + w / 2 < width && y + TALL / 2 < 0 && y - TALL / 2 > -height;

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
