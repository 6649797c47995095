// Numbers as they are read: a true minus, powers of ten as such, a dash for one that is not there.

const RAISED = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export const NONE = "—";
export const missing = (value) => value === null || Number.isNaN(value); // null: what the server says for one that is not finite

export const fixed = (value, digits) => (missing(value) ? NONE : value.toFixed(digits).replace("-", "−"));

// three digits, for the ends of a scale
export const brief = (value) => (missing(value) ? NONE : String(Number(value.toPrecision(3))).replace("-", "−"));

// 0.4201, 12.30, 2.68 × 10¹⁰
export function neat(value) {
  const size = Math.abs(value);
  if (Number.isFinite(value) && size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digits, power] = value.toExponential(2).split("e");
    return `${digits.replace("-", "−")} × 10${[...power].map((sign) => RAISED[sign]).join("")}`;
  }
  return fixed(value, size >= 1000 ? 1 : size >= 1 ? 2 : 4);
}
