// "256, 512, 512" -> [256n, 512n, 512n] and back; sizes and counts in words.

/** Extents from text: numbers between commas, spaces, x or ×, in any brackets; none is rank 0. Throws a sentence. */
export function parseExtents(text, what) {
  const parts = text
    .trim()
    .split(/[\s,;x×()[\]]+/i)
    .filter(Boolean);
  return parts.map((part) => {
    const digits = part.replaceAll("_", "");
    if (!/^\d{1,20}$/.test(digits)) {
      throw new Error(`${what}: “${part.slice(0, 24)}” is no extent; give whole numbers such as 64, 128, 128`);
    }
    const extent = BigInt(digits);
    if (extent >> 64n) throw new Error(`${what}: ${digits} does not fit 64 bits`);
    return extent;
  });
}

/** Extents as text. */
export const formatExtents = (extents) => extents.join(", ");

/** Extents between multiplication signs. */
export const times = (extents) => (extents.length ? extents.join(" × ") : "one element");

/** A whole number with thousands separators. */
export const count = (number) => BigInt(number).toLocaleString("en");

/** "1 chunk", "2 chunks". */
export const counted = (number, noun) => `${count(number)} ${noun}${BigInt(number) === 1n ? "" : "s"}`;

/** Bytes in binary units with three leading digits. */
export function bytes(number) {
  const exact = BigInt(number);
  if (exact < 1024n) return `${exact} B`;
  let value = Number(exact);
  let unit = -1;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    unit += 1;
  }
  const text = value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
  const short = text.replace(/\.0+$/, "").replace(/(\.\d*[1-9])0+$/, "$1");
  return `${short} ${["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit]}`;
}

/** A waste factor. */
export function factor(number) {
  if (number >= 1000) return `${count(Math.round(number))}×`;
  return `${number >= 100 ? number.toFixed(0) : number.toFixed(2)}×`;
}
