// Words beside and above a picture, as many as there is room for: labels at an x in rows of which none meets another, names
// at the ends of lines.

const BESIDE = 6, APART = 10, ROWS = 2, MOST = 6; // px between words and their line, between two words; rows; how many labels
const NARROW = 560; // px of a picture that has no room for words above it
const SHARE = 0.35, TIE = 14; // of the width that names may take beside it; px between a line's end and its name
const ruler = document.createElement("canvas").getContext("2d");

// labels: [{x, text, rank, about}] → Plotly annotations; of several at one x the first, with how many more there are
export function placed(labels, plot, state, colour) {
  const { xaxis, margin, font, width } = plot._fullLayout, line = font.size + 4, taken = [], annotations = [];
  if (width < NARROW) return [];
  ruler.font = `${font.size}px ${font.family}`;
  const left = xaxis._offset, right = xaxis._offset + xaxis._length + margin.r - 4;
  for (const { x, text } of grouped(labels, state).slice(0, MOST)) {
    const at = xaxis._offset + xaxis.d2p(x), wide = ruler.measureText(text).width;
    const ways = Array.from({ length: ROWS * 2 }, (_, i) => ({ row: i >> 1, before: i % 2 === 1 }));
    const way = ways.find(({ row, before }) => {
      const from = before ? at - BESIDE - wide : at + BESIDE, word = { row, at, from, to: from + wide };
      if (from < left || word.to > right || taken.some((other) => meet(word, other) || cross(word, other) || cross(other, word))) return false;
      taken.push(word);
      return true;
    });
    if (!way) continue;
    annotations.push({ x, y: 1, yref: "paper", yshift: 8 + way.row * line, text, showarrow: false, font: { color: colour },
      xanchor: way.before ? "right" : "left", xshift: way.before ? -BESIDE : BESIDE, yanchor: "bottom" });
  }
  return annotations;
}

function grouped(labels, state) {
  const chosen = ({ about }) => Number(Object.keys(about).length > 0 && Object.entries(about).every(([key, value]) => state[key] === value));
  const groups = new Map(), before = (a, b) => a.rank - b.rank || chosen(b) - chosen(a) || a.x - b.x;
  for (const label of [...labels].sort(before)) groups.set(label.x, [...(groups.get(label.x) ?? []), label]);
  return [...groups.values()].map(([first, ...more]) => ({ x: first.x, text: first.text + (more.length ? ` +${more.length}` : "") }));
}

const meet = (a, b) => a.row === b.row && a.from < b.to + APART && b.from < a.to + APART;
// the line from a word of an upper row down to the picture, through a word of a lower one
const cross = (upper, lower) => upper.row > lower.row && upper.at > lower.from - 3 && upper.at < lower.to + 3;

// The names of lines: a change of the layout that writes them beside the last points, or, where it is narrow, in a legend.
export function named(plot, annotations) {
  const { width, font, yaxis } = plot._fullLayout, lines = plot._fullData.filter(({ name, showlegend, visible }) => name && showlegend && visible === true);
  ruler.font = `600 ${font.size}px ${font.family}`;
  const room = TIE + 8 + Math.ceil(Math.max(0, ...lines.map(({ name }) => ruler.measureText(name.replace(/<[^>]*>/g, "")).width)));
  if (room > SHARE * width || !lines.length) return { annotations, showlegend: lines.length > 0, legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0 }, "margin.r": 16 };
  const ends = lines.map((line) => ({ ...line, at: yaxis.d2p(lastOf(line.y)) })).filter(({ at }) => Number.isFinite(at)).sort((a, b) => a.at - b.at);
  const places = spread(ends.map(({ at }) => at), font.size + 4, 0, yaxis._length);
  const names = ends.map(({ name, line, marker, at }, i) => { // a name that had to move is tied to its line
    const color = line?.color ?? marker?.color, moved = Math.abs(places[i] - at) > 3;
    return { text: name, xref: "paper", x: 1, xanchor: "left", yref: "paper", y: 1 - (moved ? at : places[i]) / yaxis._length, yanchor: "middle", align: "left", borderpad: 0,
      ...(moved ? { showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: color, ax: TIE, ay: places[i] - at } : { showarrow: false, xshift: TIE }),
      font: { color, weight: (line?.width ?? 0) > 2.2 ? 700 : 400 } };
  });
  return { annotations: [...annotations, ...names], showlegend: false, "margin.r": room };
}

const lastOf = (values) => Array.from(values).findLast((value) => value !== null && Number.isFinite(value));

// Places at least so far apart between two ends, in the order given and together as near to what was wanted as can be:
// those that would meet share the room around their middle (pool adjacent violators).
export function spread(wanted, apart, first, last) {
  const groups = [], middle = ({ sum, count }) => sum / count;
  wanted.forEach((y, i) => {
    groups.push({ sum: y - i * apart, count: 1 });
    while (groups.length > 1 && middle(groups.at(-2)) > middle(groups.at(-1))) {
      const last = groups.pop(), before = groups.at(-1);
      before.sum += last.sum;
      before.count += last.count;
    }
  });
  const most = Math.max(first, last - (wanted.length - 1) * apart);
  const places = groups.flatMap((group) => Array(group.count).fill(Math.max(first, Math.min(most, middle(group)))));
  return places.map((place, i) => place + i * apart);
}
