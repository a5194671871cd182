// What the component or a check of arguments refuses -> one error class with damacy's statuses.
import type * as types from "./component/interfaces/damacy-core-types.js";

/** Names and numbers of the statuses that this package reports; the numbers are those of C and Python. */
const CODES = {
  INVAL: 2,
  DTYPE: 4,
  RANK: 5,
  DECODE: 7,
  OOM: 9,
  BUDGET: 10,
  UNSUPPORTED: 12,
  INTERNAL: 13,
} as const;

/**
 * Why a call failed.
 *
 * - `INVAL`: a bad argument, a box out of bounds, a box of another shape than the batch's.
 * - `DTYPE`: a source type without a conversion.
 * - `RANK`: an array of another rank than the batch's.
 * - `DECODE`: malformed metadata.
 * - `OOM`: the engine refused memory for the answer.
 * - `BUDGET`: a limit of the call would be passed.
 * - `UNSUPPORTED`: a codec, grid, extension or feature that this build lacks, by name.
 * - `INTERNAL`: a bug of ours, or no memory left for the component; that call alone fails.
 */
export type Status = keyof typeof CODES;

/** Where an error lies, as far as it is known. */
export interface Place {
  /** Index of the sample to blame in the request. */
  sample?: number | undefined;
  /** Index of the array to blame in the request. */
  array?: number | undefined;
  /** Place in the metadata as a JSON path (`/codecs/0/name`). */
  path?: string | undefined;
}

/** A limit that a call met: jco's, with the name that it has in JavaScript. */
export interface Limit extends Omit<types.Limit, "name"> {
  /** The option of `limits` that sets it (`maxRank`, `memoryBytes`); `range` for sizes beyond 64 bits. */
  name: string;
}

/** The only error that this package throws on purpose. */
export class DamacyError extends Error implements Place {
  override readonly name = "DamacyError";
  /** Why it failed. */
  readonly status: Status;
  /** The status as C and Python number it. */
  readonly code: number;
  readonly sample: number | undefined;
  readonly array: number | undefined;
  readonly path: string | undefined;
  /** The limit that was met, for `BUDGET`. */
  readonly limit: Limit | undefined;

  constructor(status: Status, message: string, place: Place & ErrorOptions & { limit?: Limit | undefined } = {}) {
    super(message, place.cause === undefined ? undefined : { cause: place.cause });
    this.status = status;
    this.code = CODES[status];
    this.sample = place.sample;
    this.array = place.array;
    this.path = place.path;
    this.limit = place.limit;
  }
}

/** A bad argument. */
export const invalid = (message: string): DamacyError => new DamacyError("INVAL", message);
