// Reads what app/payload.py packs: a JSON header and typed arrays behind it, without copying them (but those in half precision).

const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f2: Uint16Array };

export class Tensor {
  constructor(data, shape, unit = 1) {
    this.data = data;
    this.shape = shape;
    this.unit = unit; // what 1 stands for: bytes travel in steps of 1/255
  }

  // tensor.at(3, 0) of (snapshot, layer, head, …) is (head, …)
  at(...indices) {
    let size = this.data.length, offset = 0;
    indices.forEach((index, axis) => {
      size /= this.shape[axis];
      offset += index * size;
    });
    return new Tensor(this.data.subarray(offset, offset + size), this.shape.slice(indices.length), this.unit);
  }

  value(...indices) {
    let place = 0;
    indices.forEach((index, axis) => { place = place * this.shape[axis] + index; });
    return this.data[place] * this.unit;
  }
}

export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const { name, type, shape, offset, unit = 1 } of header.arrays) {
    const count = shape.reduce((product, side) => product * side, 1);
    const sent = new TYPES[type](buffer, 4 + length + offset, count), data = type === "f2" ? fromHalf(sent) : sent;
    arrays[name] = new Tensor(data, shape, unit);
  }
  return { ...header, arrays };
}

// The inverse: tensors as bytes.
export function pack(arrays) {
  const kind = (data) => Object.keys(TYPES).find((type) => type !== "f2" && TYPES[type] === data.constructor);
  let offset = 0;
  const entries = Object.entries(arrays).map(([name, { data, shape, unit }]) => {
    const entry = { name, type: kind(data), shape, offset, ...(unit === 1 ? {} : { unit }) };
    offset += Math.ceil(data.byteLength / 8) * 8;
    return entry;
  });
  let header = JSON.stringify({ arrays: entries });
  header += " ".repeat((8 - ((4 + new TextEncoder().encode(header).length) % 8)) % 8);
  const head = new TextEncoder().encode(header), bytes = new Uint8Array(4 + head.length + offset);
  new DataView(bytes.buffer).setUint32(0, head.length, true);
  bytes.set(head, 4);
  entries.forEach(({ name, offset: at }) => bytes.set(new Uint8Array(arrays[name].data.buffer, arrays[name].data.byteOffset, arrays[name].data.byteLength), 4 + head.length + at));
  return bytes;
}

// IEEE 754 half precision as single: not every browser has a Float16Array
let halves = null; // all there are
export function fromHalf(bits) {
  halves ??= Float32Array.from({ length: 65536 }, (_, i) => {
    const sign = i >> 15 ? -1 : 1, exponent = (i >> 10) & 31, fraction = (i & 1023) / 1024;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  });
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = halves[bits[i]];
  return values;
}
