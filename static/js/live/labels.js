// Words above a picture, each beside its own x, in rows of which none meets another: the most telling first.

const BESIDE = 6, APART = 10, ROWS = 2; // px between words and their line, between two words; how many rows there are
const ruler = document.createElement("canvas").getContext("2d");

// labels: [{x, text, rank}] → Plotly annotations, as many as there is room for
export function placed(labels, plot, colour) {
  const { xaxis, margin, font } = plot._fullLayout, line = font.size + 4, taken = [];
  ruler.font = `${font.size}px ${font.family}`;
  const left = xaxis._offset, right = xaxis._offset + xaxis._length + margin.r - 4;
  const annotations = [];
  for (const { x, text } of [...labels].sort((a, b) => a.rank - b.rank)) {
    const at = xaxis._offset + xaxis.d2p(x), width = ruler.measureText(text).width;
    const ways = Array.from({ length: ROWS * 2 }, (_, i) => ({ row: i >> 1, before: i % 2 === 1 }));
    const way = ways.find(({ row, before }) => {
      const from = before ? at - BESIDE - width : at + BESIDE, word = { row, at, from, to: from + width };
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

const meet = (a, b) => a.row === b.row && a.from < b.to + APART && b.from < a.to + APART;
// the line from a word of an upper row down to the picture, through a word of a lower one
const cross = (upper, lower) => upper.row > lower.row && upper.at > lower.from - 3 && upper.at < lower.to + 3;
