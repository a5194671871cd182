// Speed of the built package beside plain JavaScript loops with the same answers, in one interleaved run: ratios only.
import { convert, parseMetadata, plan } from "damacy";

const ELEMENTS = 1 << 22;
const PLAIN = {
  "u16 -> f32": (from, to) => {
    for (let i = 0; i < from.length; i++) to[i] = from[i];
  },
  "f32 -> u8": (from, to) => {
    for (let i = 0; i < from.length; i++) to[i] = Math.min(Math.max(from[i], 0), 255);
  },
  "f32 -> i16": (from, to) => {
    for (let i = 0; i < from.length; i++) to[i] = Math.min(Math.max(from[i], -32768), 32767);
  },
  "f32 -> bf16": (from, to) => {
    const bits = new Uint32Array(from.buffer);
    for (let i = 0; i < bits.length; i++) {
      const x = bits[i];
      to[i] = (x & 0x7fffffff) > 0x7f800000 ? (x >>> 16) | 0x40 : (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
    }
  },
  "i64 -> i32": (from, to) => {
    for (let i = 0; i < from.length; i++)
      to[i] = Number(from[i] < -(2n ** 31n) ? -(2n ** 31n) : from[i] > 2n ** 31n - 1n ? 2n ** 31n - 1n : from[i]);
  },
};
const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  f32: Float32Array,
  i16: Int16Array,
  bf16: Uint16Array,
  i32: Int32Array,
  i64: BigInt64Array,
};

function milliseconds(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

for (const [pair, plain] of Object.entries(PLAIN)) {
  const [source, dtype] = pair.split(" -> ");
  const from = new ARRAYS[source](ELEMENTS).map((_, i) => (source === "i64" ? BigInt(i) ** 2n : i * 0.75 - 9));
  const [out, same] = [new ARRAYS[dtype](ELEMENTS), new ARRAYS[dtype](ELEMENTS)];
  // As many bytes as are read and written.
  const copied = new Uint8Array((from.byteLength + out.byteLength) / 2);
  const target = new Uint8Array(copied.length);
  const [ours, loop, copy] = [[], [], []];
  for (let round = 0; round < 7; round++) {
    ours.push(milliseconds(() => convert(from, dtype, { out })));
    loop.push(milliseconds(() => plain(from, same)));
    copy.push(milliseconds(() => target.set(copied)));
  }
  if (out.some((x, i) => x !== same[i])) throw new Error(`${pair}: other answers`);
  const rate = (times) => (from.byteLength + out.byteLength) / 2 ** 20 / (median(times) / 1000);
  console.log(
    `${pair.padEnd(12)} ${rate(ours).toFixed(0)} MiB/s read + written, ${(rate(ours) / rate(loop)).toFixed(2)} of a plain loop, ${(rate(ours) / rate(copy)).toFixed(2)} of a copy`,
  );
}

const array = parseMetadata(
  {
    zarr_format: 3,
    node_type: "array",
    shape: [256, 512, 512],
    data_type: "uint16",
    fill_value: 0,
    chunk_grid: { name: "regular", configuration: { chunk_shape: [32, 64, 64] } },
    chunk_key_encoding: { name: "default" },
    codecs: [{ name: "bytes", configuration: { endian: "little" } }],
  },
  { format: "v3" },
);
const crop = [64, 128, 128];
const request = {
  spec: { samples: 8, shape: crop, dtype: "f32" },
  arrays: [array],
  samples: Array.from({ length: 64 }, (_, i) => ({
    array: 0,
    bounds: crop.map((extent, axis) => {
      const start = (i * 37 * (axis + 1)) % ([256, 512, 512][axis] - extent + 1);
      return [start, start + extent];
    }),
  })),
};

/** The chunks alone, as a plain loop finds them: no uses, no order, no figures. */
function enumerate() {
  const chunks = new Set();
  for (const {
    bounds: [z, y, x],
  } of request.samples) {
    for (let i = z[0] >> 5; i < (z[1] + 31) >> 5; i++)
      for (let j = y[0] >> 6; j < (y[1] + 63) >> 6; j++)
        for (let k = x[0] >> 6; k < (x[1] + 63) >> 6; k++) chunks.add((i * 8 + j) * 8 + k);
  }
  return chunks.size;
}
if (plan(request).chunks.length !== enumerate()) throw new Error("other chunks");
const [ours, loop] = [[], []];
for (let round = 0; round < 15; round++) {
  ours.push(
    milliseconds(() => {
      for (let i = 0; i < 100; i++) plan(request);
    }),
  );
  loop.push(
    milliseconds(() => {
      for (let i = 0; i < 100; i++) enumerate();
    }),
  );
}
console.log(
  `plan, 64 crops ${(1e5 / median(ours)).toFixed(0)} plans/s, ${(median(loop) / median(ours)).toFixed(2)} of a loop that only finds the chunks`,
);
