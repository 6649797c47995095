// Expressions over arrays and state: the page's half of app/figures/expressions.py, kind by kind.

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
  linear({ of, scale, offset, whole }, context) {
    const value = evaluate(of, context), [times, plus] = evaluate([scale, offset], context);
    const at = (x) => (whole ? Math.floor(times * x + plus) : times * x + plus);
    return value?.length === undefined ? at(value) : Float64Array.from(value, at);
  },
  clip: ({ of, low, high }, context) => Math.min(Math.max(evaluate(of, context), low), high),
  tile: ({ of, gap }, context) => tile(evaluate(of, context), gap),
  choose({ by, among }, context) {
    const chosen = evaluate(by, context);
    return evaluate(Array.isArray(among) ? among[Math.min(chosen, among.length - 1)] : among[chosen], context);
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
  transpose({ of }, context) {
    const rows = evaluate(of, context);
    return Array.from(rows[0] ?? [], (_, x) => Float64Array.from(rows, (row) => row[x]));
  },
  concat: ({ parts }, context) => evaluate(parts, context).flatMap((values) => Array.from(values)),
  each({ of: { template, values } }, context) {
    const { language } = context.state, columns = Object.entries(evaluate(values, context));
    return Array.from(columns[0][1], (_, i) => fill(template[language] ?? template.en, Object.fromEntries(columns.map(([name, column]) => [name, column[i]])), language));
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
function tile({ data, shape: [rows, columns, height, width] }, [gapY, gapX]) {
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

// "{share:.0%} of {n:,}" with Python's format marks, digit by digit as app/figures/numbers.py writes them
export const fill = (template, values, language) => template.replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, mark) => write(values[name], mark ?? "", language));

function write(value, mark, language) {
  const [, plus, wide, rest] = mark.match(/^(\+?)(\d*)(.*)$/);
  if (plus || wide) return (plus && value >= 0 ? "+" : "").concat(write(value, rest, language)).padStart(wide, "\u00a0");
  if (value === null || value === undefined || Number.isNaN(value)) return "—";
  const [, comma, digits, kind] = mark.match(/^(,?)(?:\.(\d+))?([%fgr]?)$/) ?? [];
  if (typeof value === "string") return value;
  if (kind === "%") return `${share(100 * value, Number(digits ?? 0))}${language === "zh" ? "" : " "}%`;
  if (kind === "g") return digits ? brief(value, Number(digits)) : neat(value);
  if (kind === "r") return exact(value);
  if (kind === "f" || digits) return minus(comma ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) : value.toFixed(digits ?? 2));
  return comma ? value.toLocaleString("en-US") : String(value);
}

// what is more than nothing is not written as 0
function share(percent, digits) {
  const written = minus(percent.toFixed(digits));
  return percent > 0 && Number(written) === 0 ? `< ${(10 ** -digits).toFixed(digits)}` : written;
}

// 0.4201, 12.30, 2.68 × 10¹⁰
function neat(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return minus(String(value));
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digits, power] = value.toExponential(2).split("e");
    return `${minus(digits)} × 10${[...power].map((sign) => RAISED[sign]).join("")}`;
  }
  return minus(value.toFixed(size >= 1000 ? 1 : size >= 1 ? 2 : 4));
}

const extreme = (value) => value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6);
const power = (written) => written.replace(/e(.*)/, (_, sign) => ` × 10${[...sign].map((one) => RAISED[one]).join("")}`);
// so many digits that count: 0.637, 1.46 × 10⁻⁴
const brief = (value, digits) => minus(extreme(value) ? power(value.toExponential(digits - 1)) : String(Number(value.toPrecision(digits))));
// all digits there are
const exact = (value) => minus(extreme(value) ? power(value.toExponential()) : String(value));

const RAISED = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const minus = (digits) => digits.replace(/^-/, /[1-9]/.test(digits) ? "−" : ""); // a true one, and none before zero
