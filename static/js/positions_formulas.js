// The schemes' formulas, set with elements of the page.

import { make } from "./dom.js";

const v = (name) => make("i", {}, name); // a variable
const sub = (...parts) => make("sub", {}, ...parts);
const sup = (...parts) => make("sup", {}, ...parts);
const line = (...parts) => make("span", { class: "formula-line" }, ...parts);
const over = (above, below) => make("span", { class: "fraction" }, make("span", {}, ...above), make("span", {}, ...below));
const angle = () => over([v("p")], ["10000", sup("2", v("i"), "/", v("d"))]);

const product = () => [v("q"), sub(v("i")), " · ", v("k"), sub(v("j"))];

export const formulas = {
  sinusoidal: () => [
    line("PE", sub(v("p"), ", 2", v("i")), " = sin ", angle()),
    line("PE", sub(v("p"), ", 2", v("i"), "+1"), " = cos ", angle()),
  ],
  learned: () => [line(v("x"), sub(v("p")), " = token", sub(v("p")), " + ", v("T"), " [", v("p"), "]")],
  rope: () => [
    line(v("θ"), sub(v("i")), " = 10000", sup("−2", v("i"), "/", v("d")), ",  (", v("q"), sub("2", v("i")), ", ",
      v("q"), sub("2", v("i"), "+1"), ") ↻ ", v("p"), v("θ"), sub(v("i"))),
    line("(", v("R"), sub(v("m")), v("q"), ") · (", v("R"), sub(v("n")), v("k"), ") = ",
      v("q"), " · (", v("R"), sub(v("n"), "−", v("m")), v("k"), ")"),
  ],
  alibi: () => [
    line("score", sub(v("i"), v("j")), " = ", over(product(), ["√", v("d")]), " − ", v("s"), sub(v("h")), " |", v("i"), " − ", v("j"), "|"),
    line(v("s"), sub(v("h")), " = 2", sup("−8(", v("h"), "+1)/", v("H")), ",  ", v("h"), " = 0 … ", v("H"), "−1"),
  ],
  t5: () => [
    line("score", sub(v("i"), v("j")), " = ", ...product(), " + ", v("b"), sub(v("h")), " [bucket (", v("j"), " − ", v("i"), ")]"),
  ],
  none: () => [line(v("f"), " (", v("P"), v("x"), ") = ", v("P"), " ", v("f"), " (", v("x"), ")")],
};
