// Arrays and plan requests for tests.
import { parseMetadata } from "damacy";

/** An array with a document that says so; `levels` outermost first. */
export function array(shape, levels, dataType = "uint16") {
  const bytes = { name: "bytes", configuration: { endian: "little" } };
  const inner = levels
    .slice(1)
    .reduceRight(
      (codecs, chunk_shape) => [
        { name: "sharding_indexed", configuration: { chunk_shape, codecs, index_codecs: [bytes] } },
      ],
      [bytes],
    );
  return parseMetadata(
    {
      zarr_format: 3,
      node_type: "array",
      shape,
      data_type: dataType,
      fill_value: 0,
      codecs: inner,
      attributes: {},
      chunk_grid: { name: "regular", configuration: { chunk_shape: levels[0] } },
      chunk_key_encoding: { name: "default" },
    },
    { format: "v3" },
  );
}

export const volume = array([20, 30], [[5, 6]]);
export const request = (changes = {}) => ({
  spec: { samples: 1, shape: [4, 4], dtype: "f32" },
  arrays: [volume],
  samples: [
    {
      array: 0,
      bounds: [
        [0, 4],
        [2, 6],
      ],
    },
  ],
  ...changes,
});
export const box = (...bounds) => request({ samples: [{ array: 0, bounds }] });
