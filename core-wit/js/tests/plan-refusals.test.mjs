// What plan refuses: a typed error that names the place in the request and what is accepted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DamacyError, plan } from "damacy";
import { array, box, request, volume } from "./requests.mjs";

test("requests to refuse, with the sample or array at fault", () => {
  for (const [changed, status, words, place] of [
    [box([0, 4], [28, 32]), "INVAL", ["30"], { sample: 0 }],
    [box([0, 3], [2, 6]), "INVAL", ["3"], { sample: 0 }],
    [box([0, 4]), "INVAL", [], { sample: 0 }],
    [request({ spec: { samples: 1, shape: [4], dtype: "f32" } }), undefined, [], {}],
    [request({ arrays: [array([20], [[5]])] }), "RANK", [], { array: 0 }],
    [request({ arrays: [array([20, 30], [[5, 6]], "float64")] }), "DTYPE", ["float64"], { array: 0 }],
    [request({ limits: { memoryBytes: 10 } }), "BUDGET", [], {}],
    [{ ...box([3, 7], [2, 6]), limits: { maxChunks: 1 } }, "BUDGET", [], {}],
    [request({ spec: { samples: 0, shape: [4, 4], dtype: "f32" } }), "INVAL", [], {}],
    [
      request({
        samples: [
          {
            array: 1,
            bounds: [
              [0, 4],
              [2, 6],
            ],
          },
        ],
      }),
      "INVAL",
      [],
      { sample: 0 },
    ],
  ]) {
    assert.throws(
      () => plan(changed),
      (error) => {
        assert.ok(error instanceof DamacyError, String(error));
        if (status) assert.equal(error.status, status, error.message);
        for (const word of words) assert.ok(error.message.includes(word), error.message);
        assert.equal(error.limit?.name, Object.keys(changed.limits ?? {})[0], error.message);
        for (const [name, value] of Object.entries(place)) assert.equal(error[name], value, error.message);
        return true;
      },
    );
  }
});

test("numbers that are no positions, and values of wrong kinds", () => {
  const invalid = (changed, words) =>
    assert.throws(
      () => plan(changed),
      (error) => {
        assert.ok(error instanceof DamacyError && error.status === "INVAL", String(error?.stack));
        assert.ok(
          error.message.includes(words) && error.message.includes("accepted"),
          `"${error.message}" lacks "${words}"`,
        );
        return true;
      },
    );
  for (const [number, given] of [
    [-1, "-1"],
    [0.5, "0.5"],
    [NaN, "NaN"],
    [Infinity, "Infinity"],
    [2 ** 53, "9007199254740992"],
    [-1n, "-1n"],
    [2n ** 64n, "18446744073709551616n"],
    ["0", '"0"'],
    [null, "null"],
    [undefined, "undefined"],
    [[], "an array of 0"],
    [{ valueOf: () => 0 }, "an object"],
    [new Date(0), "Date"],
    [true, "true"],
  ]) {
    invalid(
      box([number, 4], [2, 6]),
      `samples[0].bounds[0][0] is ${given === "Date" ? "a value of type Date" : given}`,
    );
    invalid(request({ spec: { samples: 1, shape: [4, number], dtype: "f32" } }), "spec.shape[1] is ");
    if (number !== undefined) invalid(request({ limits: { maxChunks: number } }), "limits.maxChunks is ");
  }
  for (const wrong of [undefined, null, 3, "x", [], () => 1]) {
    invalid(wrong, "the request is ");
    invalid(request({ spec: wrong }), "spec is ");
    invalid(request({ arrays: [wrong] }), "arrays[0] is ");
    invalid(request({ samples: [wrong] }), "samples[0] is ");
    if (!Array.isArray(wrong)) invalid(request({ arrays: wrong }), "arrays is ");
    if (!Array.isArray(wrong)) invalid(request({ samples: wrong }), "samples is ");
  }
  for (const bounds of [
    [[0], [2, 6]],
    [
      [0, 4, 1],
      [2, 6],
    ],
    [4, 4],
    ["04", "26"],
  ]) {
    invalid(request({ samples: [{ array: 0, bounds }] }), "samples[0].bounds[");
  }
  for (const index of [-1, 0.5, 2 ** 32, 0n, "0", undefined]) {
    invalid(
      request({
        samples: [
          {
            array: index,
            bounds: [
              [0, 4],
              [2, 6],
            ],
          },
        ],
      }),
      "samples[0].array is ",
    );
  }
  for (const [field, value] of Object.entries({
    format: "v4",
    shape: "20",
    dataType: 5,
    source: "float64",
    byteOrder: "middle",
    layout: "C",
    levels: [5, 6],
    keyEncoding: { style: "v3", separator: "/" },
    fillValue: [0, 0],
    codecs: [5],
  })) {
    assert.throws(
      () => plan(request({ arrays: [{ ...volume, [field]: value }] })),
      (error) => {
        assert.ok(error instanceof DamacyError && error.message.includes(`arrays[0].${field}`), String(error));
        return true;
      },
    );
  }
  for (const ratio of [0, -0, -1, NaN, Infinity, 1n, "1"])
    invalid(request({ encodedRatios: [ratio] }), "encodedRatios[0] is ");
  invalid(request({ missing: [{ array: 0, coords: [0, -1] }] }), "missing[0].coords[1] is -1");
});

test("arrays made by hand that contradict themselves are refused, not believed", () => {
  for (const wrong of [
    { levels: [] },
    { levels: [[0, 6]] },
    { levels: [[5]] },
    {
      levels: [
        [5, 6],
        [2, 6],
      ],
    },
    { shape: [20] },
  ]) {
    assert.throws(
      () => plan(request({ arrays: [{ ...volume, ...wrong }] })),
      (error) => {
        assert.ok(error instanceof DamacyError && error.status !== "INTERNAL", `${JSON.stringify(wrong)}: ${error}`);
        return true;
      },
    );
  }
});
