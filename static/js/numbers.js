// Numbers as they are read: a true minus, powers of ten as such, a dash for one that is not there.

const RAISED = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// ("2.68", 10) as 2.68 × 10¹⁰
export const timesTen = (digits, power) => `${String(digits).replace("-", "−")} × 10${[...String(power)].map((sign) => RAISED[sign]).join("")}`;

export const NONE = "—";
export const missing = (value) => value === null || Number.isNaN(value); // null: what the server says for one that is not finite

export const fixed = (value, digits) => (missing(value) ? NONE : value.toFixed(digits).replace("-", "−"));

// three digits, for the ends of a scale
export const brief = (value) => (missing(value) ? NONE : String(Number(value.toPrecision(3))).replace("-", "−"));

// as it was chosen, every digit of it: 50,257, 0.1, 10⁻¹², 2.5 × 10⁻⁴
export function exact(value) {
  if (value === 0 || Math.abs(value) >= 1e-3) return value.toLocaleString("en-US", { maximumFractionDigits: 20 }).replace("-", "−");
  return timesTen(...value.toExponential().split("e")).replace(/^(−?)1 × /, "$1");
}

// with a unit: 131 kB, 684 M, 1.05 GB; the space does not break
export function scaled(value, unit = "") {
  const steps = ["", "k", "M", "G", "T", "P"], at = Math.min(steps.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  const size = value / 1000 ** at, digits = size >= 100 || Number.isInteger(size) ? Math.round(size) : size.toPrecision(3), name = steps[at] + unit;
  return name ? `${digits}\u00a0${name}` : String(digits);
}

// 0.4201, 12.30, 2.68 × 10¹⁰
export function neat(value) {
  const size = Math.abs(value);
  if (Number.isFinite(value) && size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return timesTen(...value.toExponential(2).split("e"));
  }
  return fixed(value, size >= 1000 ? 1 : size >= 1 ? 2 : 4);
}
