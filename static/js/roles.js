// What a head does on this input, from the measures that came with the look; it may be nothing in particular.

import { typeSize } from "./lines.js";
import { say } from "./words.js";

const ROLES = ["agreement", "induction", "previous", "own", "first"]; // the more telling first, when shares are equal

export function roleOf(look, heads, moment, layer, head) {
  let best = { name: "none", share: 0 };
  for (const name of ROLES.filter((role) => heads.measures.includes(role))) {
    const share = look.arrays[`${heads.name}.${name}`].value(moment, layer, head);
    if (share > best.share) best = { name, share };
  }
  return best.share >= look.clear ? { ...best, clear: true } : { name: "none", share: best.share, clear: false };
}

export const roleWords = (role, who) => say(`role.${role.name}`, { who, share: role.share });

// The first of the snapshots up to this one from which on the head has had the role it has now.
export function roleSince(look, heads, moment, layer, head) {
  const { name } = roleOf(look, heads, moment, layer, head);
  let since = moment;
  while (since > 0 && roleOf(look, heads, since - 1, layer, head).name === name) since--;
  return since;
}

export const roleSize = () => typeSize() - 1.5;
export const roleFont = (role) => `${role.clear ? "600 " : ""}${roleSize()}px system-ui, sans-serif`;

// How roles are named where all of them are to be named alike: with their share, without, or as briefly as can be;
// `fits(text, role)` tells.
export function roleLabels(roles, fits) {
  const ways = [(role) => say(`role_short.${role.name}`, { share: role.share }), (role) => say(`role_only.${role.name}`), (role) => say(`role_tiny.${role.name}`)];
  return ways.find((way) => roles.every((role) => fits(way(role), role))) ?? ((role) => (role.clear ? "•" : ""));
}
