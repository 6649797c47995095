// Where the parts of a model stand: containment and order are enough. Boxes hold rows; arrows that pass a row take a lane beside it.

const ROW_GAP = 30, COLUMN_GAP = 16, PAD = 14, HEAD = 34, LANE = 11, STRIP = 34; // px
export const STACK = 6; // px by which the copies behind a folded group stand out
const canvas = document.createElement("canvas").getContext("2d");
const MONO = "ui-monospace, Menlo, monospace";

export const FONTS = { name: `600 13px ${MONO}`, small: `11.5px ${MONO}`, point: `13px ${MONO}` };

export function widthOf(text, font) {
  canvas.font = font;
  return canvas.measureText(text).width;
}

export const shapeText = (shape) => shape.join("×");
// the first two axes of what arrives, the other way round
export const isTimeFirst = (shape, arriving) => shape.length > 1 && shape[0] !== shape[1] && String([shape[1], shape[0], ...shape.slice(2)]) === String(arriving);
export const localName = (part, parent) => (parent?.path && part.path.startsWith(`${parent.path}.`) ? part.path.slice(parent.path.length + 1) : part.path);

// tree: a plan's root; open: ids unfolded; unrolled: ids drawn over time. → {nodes, edges, width, height}
export function layOut(root, { open, unrolled, time, words }) {
  const nodes = new Map(), edges = [];
  const rootBox = measure(root, null, 0);
  const found = edgesOf(nodes);
  for (const edge of found) assignLane(edge);
  size(rootBox);
  place(rootBox, 0, 0);
  for (const edge of found) edges.push({ ...edge, points: route(edge) });
  return { nodes: [...nodes.values()], edges, width: rootBox.width, height: rootBox.height };

  function measure(part, parent, depth) {
    const isOpen = part.rows.length > 0 && (parent === null || open.has(part.id));
    const box = { part, parent, depth, id: part.id, isOpen, name: words.name(part, parent?.part), lanes: { left: [], right: [], between: [] } };
    nodes.set(part.id, box);
    box.rows = isOpen ? part.rows.map((row) => row.map((inner) => measure(inner, box, depth + 1))) : [];
    box.strip = isOpen && unrolled.has(part.id) ? stripOf(box, time) : null;
    if (isOpen) return box;
    box.lines = linesOf(box);
    box.leaf = { width: Math.max(...box.lines.map(({ text, font }) => widthOf(text, font))) + (part.kind === "module" ? 26 : 22), height: part.kind === "module" ? 44 : 28 };
    return box;
  }

  function linesOf({ part, name }) {
    if (part.kind !== "module") return [{ text: `${name}  ${shapeText(part.shape)}`, font: FONTS.point }];
    const fold = part.rows.length ? "▸ " : "", times = part.times > 1 ? ` × ${part.times}` : "";
    return [{ text: `${fold}${name}${times}`, font: FONTS.name }, { text: words.size(part), font: FONTS.small }];
  }

  function size(box) {
    if (!box.isOpen) return Object.assign(box, box.leaf);
    const inner = box.rows.map((row) => {
      row.forEach(size);
      const gaps = row.slice(1).reduce((sum, one) => sum + gapBefore(one), 0);
      return { width: row.reduce((sum, one) => sum + one.width, 0) + gaps, height: Math.max(...row.map((one) => one.height)) };
    });
    const left = PAD + LANE * box.lanes.left.length, right = PAD + LANE * box.lanes.right.length;
    const head = box.parent ? HEAD : 14, most = Math.max(...inner.map(({ width }) => width), box.strip?.width ?? 0, box.parent ? headWidth(box) - left - right : 0);
    Object.assign(box, { left, inner, head, innerWidth: most, width: left + most + right });
    box.height = head + inner.reduce((sum, { height }) => sum + height + ROW_GAP, 0) - ROW_GAP + PAD + (box.parent ? 12 : 0) + (box.strip ? STRIP + 14 : 0);
  }

  function headWidth(box) {
    return widthOf(`▾ ${box.name} ${box.part.module}`, FONTS.name) + widthOf(words.size(box.part), FONTS.small) + (box.part.times > 1 ? 96 : 0) + (recurrent(box) ? 84 : 0) + 36;
  }

  function place(box, x, y) {
    Object.assign(box, { x, y });
    if (!box.isOpen) return;
    let top = y + box.head + (box.parent ? 6 : 0);
    box.rows.forEach((row, i) => {
      let at = x + box.left + (box.innerWidth - box.inner[i].width) / 2;
      row.forEach((one, j) => {
        if (j) at += gapBefore(one);
        place(one, at, row.length > 1 && row.some(({ isOpen }) => isOpen) ? top : top + (box.inner[i].height - one.height) / 2);
        at += one.width;
      });
      top += box.inner[i].height + ROW_GAP;
    });
    if (box.strip) box.strip.y = top - ROW_GAP + 14;
  }

  // Arrows between what is visible: a part inside a folded box is drawn as that box.
  function edgesOf() {
    const shownAs = new Map(), kept = new Map();
    const mark = (part, box) => {
      shownAs.set(part.id, nodes.get(part.id) ?? box);
      for (const inner of part.rows.flat()) mark(inner, nodes.get(inner.id) ?? box);
    };
    mark(root, nodes.get(root.id));
    const visit = (part) => {
      for (const [source, again] of part.sources) {
        const from = shownAs.get(source), to = shownAs.get(part.id);
        if (!from || !to || (from === to && !(again && part.kind === "point" && nodes.has(part.id))) || holds(from, to) || holds(to, from)) continue;
        const key = `${from.id}→${to.id}→${again}`;
        if (!kept.has(key)) kept.set(key, { from, to, again });
      }
      part.rows.flat().forEach(visit);
    };
    visit(root);
    return [...kept.values()];
  }

  function holds(outer, inner) {
    for (let box = inner.parent; box; box = box.parent) if (box === outer) return true;
    return false;
  }

  function assignLane(edge) {
    const { from, to, again } = edge, [common, above, below] = meet(from, to);
    const rows = [above, below].map((one) => common.rows.findIndex((row) => row.includes(one)));
    edge.common = common;
    if (again) edge.lane = laneIn(common.lanes.left, from.id, "left");
    else if (rows[0] === rows[1]) edge.lane = { ...laneIn(below.lanes.between, from.id, "between"), before: below };
    else if (rows[1] === rows[0] + 1 && isAtEnd(from, above, -1) && isAtEnd(to, below, 0)) edge.lane = null;
    else edge.lane = laneIn(common.lanes.right, from.id, "right");
  }

  function route({ from, to, lane, common }) {
    const a = [from.x + from.width / 2, from.y + from.height + (from.part.times > 1 ? STACK : 0)], b = [to.x + to.width / 2, to.y];
    if (!lane) return { kind: "direct", a, b, gate: enters(from, to) };
    const x = lane.side === "right" ? common.x + common.width - PAD - LANE * lane.at + 4
      : lane.side === "left" ? common.x + PAD + LANE * lane.at - 4 : lane.before.x - 9 - LANE * lane.at;
    return { kind: "lane", a, b, x, out: a[1] + 7, into: b[1] - 9 };
  }
}

const laneIn = (lanes, id, side) => {
  if (!lanes.includes(id)) lanes.push(id);
  return { side, at: lanes.indexOf(id) };
};
const gapBefore = (box) => COLUMN_GAP + (box.lanes.between.length ? 12 + LANE * box.lanes.between.length : 0);

// [their common box, the part of it that holds a, the one that holds b]
function meet(a, b) {
  const line = (box) => (box.parent ? [...line(box.parent), box] : [box]);
  const [left, right] = [line(a), line(b)];
  let at = 0;
  while (left[at + 1] && left[at + 1] === right[at + 1] && left[at + 1] !== a && right[at + 1] !== b) at++;
  return [left[at], left[at + 1] ?? a, right[at + 1] ?? b];
}

// y from which on an arrow is inside the boxes that hold its end: there it goes straight down, past their titles
function enters(from, to) {
  const [, , outermost] = meet(from, to);
  return outermost === to ? null : outermost.y;
}

// Is a box in the first (0) or last (−1) row of each box between it and an outer one?
function isAtEnd(box, outer, end) {
  for (let inner = box; inner !== outer; inner = inner.parent) if (!inner.parent.rows.at(end).includes(inner) || (end && inner.parent.strip)) return false;
  return true;
}

export const recurrent = (box) => box.isOpen && box.part.rows.flat().some((inner) => inner.sources.some(([source, again]) => again && box.part.rows.flat().some(({ id }) => id === source)));

// The states a cell hands to its next step, and as many steps as there is room for.
function stripOf(box, time) {
  const inside = box.part.rows.flat(), ids = new Set(inside.map(({ id }) => id));
  const states = inside.filter(({ id }) => inside.some((other) => other.sources.some(([source, again]) => again && source === id && ids.has(source))));
  const steps = Math.min(time, 8), backward = /\bbwd$/.test(box.part.path);
  return { steps, time, states, backward, width: steps * 62 + (time > steps ? 40 : 0) + 20 };
}
