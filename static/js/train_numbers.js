// Numbers of a training as they are read: one way for headings, captions, axes and tips.

import { brief, missing, NONE, timesTen } from "./numbers.js";

const [LEAST, MOST] = [1e-3, 1e6]; // beyond: as a power of ten
const scientific = (value, digits) => timesTen(...value.toExponential(digits).split("e"));
const extreme = (value) => value !== 0 && (Math.abs(value) < LEAST || Math.abs(value) >= MOST);

// three digits: 0.637, 1.46 × 10⁻⁴
export const three = (value) => (!missing(value) && extreme(value) ? scientific(value, 2) : brief(value));

// all digits there are
export const exact = (value) => (missing(value) ? NONE : extreme(value) ? scientific(value) : String(value).replace("-", "−"));

// on an axis: 200k, 0.005, 10⁻⁵
export function tick(value) {
  if (Math.abs(value) >= 1000 && Math.abs(value) < MOST) return `${brief(value / 1000)}k`;
  return three(value).replace(/\.?0+ ×/, " ×").replace(/^1 × /, "");
}
