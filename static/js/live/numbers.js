// Numbers as they are read, digit by digit as app/figures/numbers.py writes them.

const MARK = /^(\+?)(\d*)(,?)(#?)(?:\.(\d+))?([%fgrp]?)$/;
const LEAST_PERCENT = 5e-4; // a probability below this is written as a power of ten
const RAISED = { "-": "⁻", "+": "", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// "{share:.0%} of {n:,}" with its values written in
export const fill = (template, values, language) => template.replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, mark) => write(values[name], mark ?? "", language));

function write(value, mark, language) {
  const [, plus, width, comma, zeros, digits, kind] = mark.match(MARK) ?? [];
  if (value === null || value === undefined || Number.isNaN(value)) return "—".padStart(width || 0, "\u00a0");
  if (typeof value === "string") return value.padStart(width || 0, "\u00a0");
  const signed = plus && (value > 0 || (value === 0 && digits)) ? "+" : "";
  return (signed + number(Number(value), { comma, zeros, digits, kind }, language)).padStart(width || 0, "\u00a0");
}

function number(value, { comma, zeros, digits, kind }, language) {
  if (kind === "%") return `${share(100 * value, Number(digits ?? 0))}${language === "zh" ? "" : " "}%`;
  if (kind === "p") return value > 0 && value < LEAST_PERCENT ? neat(value) : write(value, ".1%", language);
  if (kind === "g") return digits === undefined ? neat(value) : (zeros ? significant : brief)(value, Number(digits));
  if (kind === "r") return minus(extreme(value) ? raised(value.toExponential()) : String(value));
  if (kind === "f" || digits) return minus(comma ? value.toLocaleString("en-US", { minimumFractionDigits: digits ?? 2, maximumFractionDigits: digits ?? 2 }) : value.toFixed(digits ?? 2));
  return minus(comma ? value.toLocaleString("en-US") : String(value));
}

// what is more than nothing is not written as 0
function share(percent, digits) {
  const written = minus(percent.toFixed(digits));
  return percent > 0 && Number(written) === 0 ? `< ${(10 ** -digits).toFixed(digits)}` : written;
}

// 0.4201, 12.30, 2.68 × 10¹⁰
function neat(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return value < 0 ? "−Infinity" : "Infinity";
  return minus(extreme(value) ? raised(value.toExponential(2)) : value.toFixed(size >= 1000 ? 1 : size >= 1 ? 2 : 4));
}

// so many digits that count: 1.1, 177, 3.0 × 10⁻⁷
function significant(value, digits) {
  if (!value || !Number.isFinite(value)) return value ? neat(value) : "0";
  if (extreme(value)) return minus(raised(value.toExponential(digits - 1)));
  return minus(value.toFixed(Math.max(0, digits - 1 - Number(value.toExponential(digits - 1).split("e")[1]))));
}

// at most so many digits that count: 0.637, 2, 1.46 × 10⁻⁴
const brief = (value, digits) => minus(extreme(value) ? raised(value.toExponential(digits - 1)) : String(Number(value.toPrecision(digits))));

const extreme = (value) => value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6);
const raised = (written) => written.replace(/e(.*)/, (_, power) => ` × 10${[...power].map((sign) => RAISED[sign]).join("")}`);
const minus = (digits) => digits.replace(/^-/, /[1-9]/.test(digits) || digits.includes("Inf") ? "−" : ""); // a true one, and none before zero
