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
    const indices = by.map((key, axis) => Math.min(Number(typeof key === "string" ? context.state[key] : evaluate(key, context)), tensor.shape[axis] - 1));
    return plain(tensor.at(...indices));
  },
  state: ({ key }, { state }) => state[key],
  linear({ of, scale, offset, whole }, context) {
    const value = scale * evaluate(of, context) + offset;
    return whole ? Math.floor(value) : value;
  },
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
  first: ({ of, count }, context) => evaluate(of, context).slice(0, evaluate(count, context)),
  join: ({ of, start, end }, context) => evaluate(of, context).slice(evaluate(start, context), evaluate(end, context) + 1).join(" "),
  transpose({ of }, context) {
    const rows = evaluate(of, context);
    return Array.from(rows[0] ?? [], (_, x) => Float64Array.from(rows, (row) => row[x]));
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

// The keys of the state that an expression depends on.
export function keysOf(expression, keys = new Set()) {
  if (Array.isArray(expression)) expression.forEach((part) => keysOf(part, keys));
  else if (expression !== null && typeof expression === "object") {
    if (expression.$ === "state") keys.add(expression.key);
    if (expression.$ === "format" || expression.$ === "sentences") keys.add("language");
    if (expression.$ === "slice") expression.by.forEach((key) => (typeof key === "string" ? keys.add(key) : keysOf(key, keys)));
    else Object.values(expression).forEach((part) => keysOf(part, keys));
  }
  return keys;
}

// "{share:.0%} of {n:,}" with Python's format marks, digit by digit as app/figures/numbers.py writes them
export const fill = (template, values, language) => template.replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, mark) => write(values[name], mark ?? "", language));

function write(value, mark, language) {
  if (value === null || value === undefined || Number.isNaN(value)) return "—";
  if (typeof value === "string") return value;
  if (mark.startsWith("+")) return (value < 0 ? "−" : "+") + write(Math.abs(value), mark.slice(1), language);
  const [, comma, digits, kind] = mark.match(/^(,?)(?:\.(\d+))?([%fgp]?)$/) ?? [];
  if (kind === "p") return value > 0 && value < 5e-4 ? neat(value) : write(value, ".1%", language);
  if (kind === "%") return `${share(100 * value, Number(digits ?? 0))}${language === "zh" ? "" : " "}%`;
  if (kind === "g") return neat(value);
  if (kind === "f" || digits) return minus(value.toFixed(digits ?? 2));
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

const RAISED = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const minus = (digits) => digits.replace(/^-/, /[1-9]/.test(digits) ? "−" : ""); // a true one, and none before zero
