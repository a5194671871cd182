// A seed -> the same crops on every machine: SplitMix64, in BigInt, so that extents keep all 64 bits.

const MASK = (1n << 64n) - 1n;

/** A generator of numbers below a bound. The seed is a whole number or any text. */
export function generator(seed) {
  let state = seedNumber(seed);
  const next = () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return z ^ (z >> 31n);
  };
  return (bound) => {
    const fair = MASK + 1n - ((MASK + 1n) % bound); // beyond it, some results would come up more often
    for (;;) {
      const number = next();
      if (number < fair) return number % bound;
    }
  };
}

function seedNumber(seed) {
  if (/^\d{1,20}$/.test(seed)) return BigInt(seed) & MASK;
  let state = 0xcbf29ce484222325n; // FNV-1a
  for (const char of String(seed)) state = ((state ^ BigInt(char.codePointAt(0))) * 0x100000001b3n) & MASK;
  return state;
}

/** `count` crops inside `shape`: a list of [start, stop) for each axis. A crop that does not fit starts at 0. */
export function randomCrops(shape, crop, count, seed) {
  const below = generator(seed);
  return Array.from({ length: count }, () =>
    crop.map((extent, axis) => {
      const room = (shape[axis] ?? 0n) - extent;
      const start = room > 0n ? below(room + 1n) : 0n;
      return [start, start + extent];
    }),
  );
}
