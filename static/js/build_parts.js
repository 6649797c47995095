// Finding parts in a plan's tree, in which equal blocks stand once; `index` says which of them is meant.

import { everyPart } from "./build_panel.js";

// The part shown while none is selected: attention weights, else a hidden state.
export function firstPoint(root) {
  const points = everyPart(root).filter(({ kind }) => kind === "point").map(({ id }) => id);
  return points.find((id) => id.endsWith("weights")) ?? points.find((id) => id.endsWith("hidden")) ?? points[0];
}

// The part with this id, renumbered if it stands in a folded group at another index; null if it is not there.
export function findPart(part, id, index, shift = []) {
  const by = part.times > 1 ? index[part.id] ?? 0 : 0, here = by ? [...shift, [part.path, by]] : shift;
  if (part.id === id) return renamed(part, here);
  for (const inner of part.rows.flat()) {
    const found = findPart(inner, id, index, here);
    if (found) return found;
  }
  return null;
}

function renamed(part, shift) {
  let { path } = part;
  for (const [from, by] of shift) if (path === from || path.startsWith(`${from}.`)) path = renumbered(from, by) + path.slice(from.length);
  return { ...part, path, rows: part.rows.map((row) => row.map((inner) => renamed(inner, shift))) };
}

// "blocks.0", 3 → "blocks.3"; "layers.1.fwd", 2 → "layers.3.fwd"
function renumbered(path, by) {
  const parts = path.split("."), at = parts.findLastIndex((part) => /^\d+$/.test(part));
  parts[at] = String(Number(parts[at]) + by);
  return parts.join(".");
}

// The parts from the root to one, by id or by the path of a tap in any copy of a folded group, whose number goes into `index`.
export function lineTo(part, id, index) {
  if (part.id === id) return [part];
  for (const inner of part.rows.flat()) {
    const line = lineTo(inner, id, index);
    if (line) return [part, ...line];
  }
  if (part.times < 2) return null;
  const cut = part.path.split("."), at = cut.findLastIndex((name) => /^\d+$/.test(name)), asked = id.split(".");
  const by = Number(asked[at]) - Number(cut[at]);
  if (!(by > 0 && by < part.times && cut.every((name, i) => i === at || name === asked[i]))) return null;
  asked[at] = cut[at];
  const line = lineTo({ ...part, times: 1 }, asked.join("."), index);
  if (line) index[part.id] = by;
  return line;
}
