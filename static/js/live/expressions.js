// Expressions over arrays and state: the page's half of app/figures/expressions.py, kind by kind.

import { fill } from "./numbers.js";

// A JSON value in which objects marked by "$" are replaced by what they stand for.
export function evaluate(expression, context) {
  if (Array.isArray(expression)) return expression.map((part) => evaluate(part, context));
  if (expression === null || typeof expression !== "object") return expression;
  if (expression.$) return KINDS[expression.$](expression, context);
  return Object.fromEntries(Object.entries(expression).map(([name, part]) => [name, evaluate(part, context)]));
}

const KINDS = {
  slice({ array, by }, context) {
    const tensor = context.arrays[array];
    const indices = by.map((key, axis) => key === null ? null : Math.min(Number(typeof key === "string" ? context.state[key] : evaluate(key, context)), tensor.shape[axis] - 1));
    return plain(indices.includes(null) ? across(tensor, indices) : tensor.at(...indices));
  },
  state: ({ key }, { state }) => state[key],
  affine({ of, scale, offset, whole }, context) {
    const value = evaluate(of, context), [times, plus] = evaluate([scale, offset], context);
    const at = (x) => (whole ? Math.floor(times * x + plus) : times * x + plus);
    return value?.length === undefined ? at(value) : Float64Array.from(value, at);
  },
  tile: ({ of, gap_y: gapY, gap_x: gapX }, context) => tile(evaluate(of, context), gapY, gapX),
  choose({ by, among }, context) {
    const chosen = evaluate(by, context);
    return evaluate(Array.isArray(among) ? among[Math.min(chosen, among.length - 1)] : chosen in among ? among[chosen] : Object.values(among)[0], context);
  },
  sentences: ({ parts }, context) => evaluate(parts, context).filter(Boolean).join(context.state.language === "zh" ? "" : " "),
  take({ of, order }, context) {
    const values = evaluate(of, context);
    return Array.from(evaluate(order, context), (index) => values[index]);
  },
  item: ({ of, index }, context) => evaluate(of, context)[evaluate(index, context)],
  curves: ({ of, low, high, part, row }, context) => curves(evaluate(of, context), low, high, part, evaluate(row, context)),
  nearest: ({ of, x, to }, context) => nearest(evaluate(of, context), evaluate(x, context), evaluate(to, context)),
  log1p: ({ of }, context) => Math.log1p(evaluate(of, context)),
  first: ({ of, count }, context) => evaluate(of, context).slice(0, evaluate(count, context)),
  join: ({ of, start, end }, context) => evaluate(of, context).slice(evaluate(start, context), evaluate(end, context) + 1).join(" "),
  transpose({ of }, context) {
    const rows = evaluate(of, context);
    return Array.from(rows[0] ?? [], (_, x) => Float64Array.from(rows, (row) => row[x]));
  },
  concat: ({ parts }, context) => evaluate(parts, context).flatMap((values) => Array.from(values)),
  each({ of: { template, values } }, context) {
    const { language } = context.state, columns = Object.entries(evaluate(values, context));
    return Array.from(columns[0][1], (_, i) => fill(template[language] ?? template.en, Object.fromEntries(columns.map(([name, column]) => [name, column[i]])), language));
  },
  sum: ({ parts }, context) => evaluate(parts, context).reduce((sum, value) => sum + value, 0),
  clamp: ({ of, low, high }, context) => Math.max(evaluate(low, context), Math.min(evaluate(high, context), evaluate(of, context))),
  bysign({ of, below, above }, context) {
    const [low, high] = evaluate([below, above], context);
    return Array.from(evaluate(of, context), (number) => (number < 0 ? low : high));
  },
  format({ template, values }, context) {
    const { language } = context.state;
    return fill(template[language] ?? template.en, evaluate(values, context), language);
  },
};

// What Plotly takes: a number, a typed array, or rows of them; more axes stay a tensor, for `tile`.
function plain({ data, shape, unit }) {
  const values = unit === 1 ? data : Float64Array.from(data, (value) => value * unit);
  if (!shape.length) return values[0];
  if (shape.length === 1) return values;
  if (shape.length > 2) return { data: values, shape };
  return Array.from({ length: shape[0] }, (_, row) => values.subarray(row * shape[1], (row + 1) * shape[1]));
}

// the value where the increasing x is nearest to that; null beyond its ends
function nearest(values, x, to) {
  if (to === null || !(x[0] <= to && to <= x[x.length - 1])) return null;
  let low = 0, high = x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < to) low = middle + 1;
    else high = middle;
  }
  return values[low > 0 && to - x[low - 1] <= x[low] - to ? low - 1 : low];
}

// The part of a tensor at some indices, with all of an axis where the index is null.
function across({ data, shape, unit }, indices) {
  const all = shape.map((_, axis) => (indices[axis] ?? null) === null), kept = shape.filter((_, axis) => all[axis]);
  const values = new data.constructor(kept.reduce((product, side) => product * side, 1));
  let n = 0;
  const walk = (axis, offset) => {
    if (axis === shape.length) return void (values[n++] = data[offset]);
    const [from, to] = all[axis] ? [0, shape[axis]] : [indices[axis], indices[axis] + 1];
    for (let i = from; i < to; i++) walk(axis + 1, offset * shape[axis] + i);
  };
  walk(0, 0);
  return { data: values, shape: kept, unit };
}

// (row, column, y, x) side by side as one matrix with empty cells between
function tile({ data, shape: [rows, columns, height, width] }, gapY, gapX) {
  const wide = columns * (width + gapX) - gapX, whole = Array.from({ length: rows * (height + gapY) - gapY }, () => new Float64Array(wide).fill(NaN));
  let from = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      for (let y = 0; y < height; y++, from += width) whole[row * (height + gapY) + y].set(data.subarray(from, from + width), column * (width + gapX));
    }
  }
  return whole;
}

const CURVE = Array.from({ length: 17 }, (_, i) => i / 16); // the parameter of a cubic Bézier curve that leaves and arrives horizontally
const CURVE_X = CURVE.map((t) => 3 * 0.45 * t * (1 - t) * (1 - t) + 3 * 0.55 * t * t * (1 - t) + t * t * t);
const CURVE_Y = CURVE.map((t) => 3 * t * t - 2 * t * t * t);

// the values in [low, high) as curves from (0, row) to (1, column), a gap behind each; of one row only, or of all (null)
function curves(values, low, high, part, only) {
  const points = [];
  values.forEach((row, from) => (only === null || from === only) && row.forEach((value, to) => {
    if (!(value >= low && value < high)) return;
    if (part === "x") points.push(...CURVE_X, NaN);
    else if (part === "y") points.push(...CURVE_Y.map((share) => from + share * (to - from)), NaN);
    else for (let i = 0; i <= CURVE.length; i++) points.push([from, to, value]);
  }));
  return points;
}

// The keys of the state that an expression depends on, and `#name` of every array: arrays may grow.
export function keysOf(expression, keys = new Set()) {
  if (Array.isArray(expression)) expression.forEach((part) => keysOf(part, keys));
  else if (expression !== null && typeof expression === "object") {
    if (expression.$ === "state") keys.add(expression.key);
    if (expression.$ === "format" || expression.$ === "sentences") keys.add("language");
    if (expression.$ === "slice") keys.add(`#${expression.array}`);
    if (expression.$ === "slice") expression.by.forEach((key) => (typeof key === "string" ? keys.add(key) : keysOf(key, keys)));
    else Object.values(expression).forEach((part) => keysOf(part, keys));
  }
  return keys;
}
