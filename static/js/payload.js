// Reads what app/payload.py packs: a JSON header and typed arrays behind it, without copying them.

const TYPES = { f4: Float32Array, u1: Uint8Array, i4: Int32Array };

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
  for (const { name, type, shape, offset } of header.arrays) {
    const count = shape.reduce((product, side) => product * side, 1);
    const data = new TYPES[type](buffer, 4 + length + offset, count);
    arrays[name] = new Tensor(data, shape, type === "u1" && name.endsWith(".weights") ? 1 / 255 : 1);
  }
  return { ...header, arrays };
}
