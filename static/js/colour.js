// Colour-blind-safe scales, one hue from the page's ground to ink, and a diverging one (blue, ground, orange).

export const dark = () => document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");

const GROUND = { light: [255, 255, 255], dark: [23, 28, 40] };
const INK = { light: [10, 60, 92], dark: [122, 226, 214] };
const LOW = { light: [33, 102, 172], dark: [103, 169, 240] };
const HIGH = { light: [200, 90, 10], dark: [244, 165, 82] };
const CLOSED = { light: [243, 242, 238], dark: [15, 19, 28] };

const mix = (a, b, share) => a.map((x, i) => Math.round(x + (b[i] - x) * share));

function table(colourOf) {
  const colours = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const [r, g, b] = colourOf(i / 255);
    colours[i] = (255 << 24) | (b << 16) | (g << 8) | r; // canvas bytes are little-endian RGBA
  }
  return colours;
}

const cache = {};

// 256 packed colours: "weight" for shares from 0 to 1, "signed" for −1 to 1 (0 in the middle)
export function scale(kind) {
  const ground = dark() ? "dark" : "light";
  return (cache[kind + ground] ??= table(kind === "signed"
    ? (v) => (v < 0.5 ? mix(GROUND[ground], LOW[ground], 1 - 2 * v) : mix(GROUND[ground], HIGH[ground], 2 * v - 1))
    : (v) => mix(GROUND[ground], INK[ground], v ** 0.7)));
}

export function closed() {
  const [r, g, b] = CLOSED[dark() ? "dark" : "light"];
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

export const css = (packed) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;

export const token = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
