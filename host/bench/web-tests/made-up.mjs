// Results of a real run -> results as they could be: peers with a search, hostile names, a sweep, a check that fails.

/** Markup and a word that is too long for a phone. */
export const EVIL = `<script>window.hacked = 1</script><img src=x onerror="hacked = 1"> ${"long".repeat(40)}`;

const spread = (median) => ({
  n: 5,
  median,
  min: median * 0.93,
  q1: median * 0.98,
  q3: median * 1.02,
  max: median * 1.08,
});

/** One peer that is `slower` times slower than `run`, in each of its rounds. */
function peer(run, name, slower, more) {
  const search = [0, 1 << 27, 1 << 30].flatMap((cache_bytes) =>
    ["cast", "read"].flatMap((how) =>
      [1, 2, 8].map((batches_ahead) => {
        const time = 0.5 + (cache_bytes ? 0 : 0.4) + (how === "cast" ? 0.2 : 0) + 0.3 / batches_ahead;
        return { setting: { cache_bytes, how, batches_ahead }, pass_s: [time, time * 1.07, time * 0.98] };
      }),
    ),
  );
  return {
    name,
    version: "0.1.86",
    unavailable: null,
    setting: { cache_bytes: 1 << 27, how: "read", batches_ahead: 8 },
    search,
    rounds: run.rounds.map(({ pass_s }) => ({ before_s: pass_s * slower * 0.97, after_s: pass_s * slower * 1.05 })),
    samples_per_s: spread(run.summary.samples_per_s.median / slower),
    ratio: spread(slower),
    equality: { elements: 786432, differing: 0, note: null },
    lead_from_decodes_avoided: slower > 1 ? 0 : null,
    ...more,
  };
}

/** A search that looked at all settings on a part of the pass, and went on with five of them. */
function sampled(settings) {
  const search = settings.map(({ setting, pass_s }, index) => ({
    setting,
    sample_s: pass_s[0] / 5,
    pass_s: index < 5 ? pass_s : [],
  }));
  return { search, setting: search[4].setting, sample_batches: 2, search_s: 9.7 };
}

/** Peers of all kinds beside a run. */
export function withPeers(results) {
  const made = structuredClone(results);
  made.command = ["damacy", "bench", "smoke", "--peers", "tensorstore,zarr,zarrs"];
  made.versions = { ...made.versions, tensorstore: "0.1.86", zarr: "3.1.3" };
  const [run] = made.runs;
  const note = "float to integer wraps around there, where ours clamps";
  const tensorstore = peer(run, "tensorstore", 1.49);
  run.peers = [
    tensorstore,
    peer(run, "zarr", 1.01, { version: "3.1.3", setting: {}, search: [], equality: { elements: 786432, differing: 1203, note } }),
    peer(run, "zarrs", 1, { unavailable: "no module named zarrs", version: null, search: [], rounds: [], ratio: null,
      samples_per_s: null, equality: null }),
    peer(run, "sampled", 2.2, sampled(tensorstore.search)),
  ];
  return made;
}

/** Ten output types, and a hostile scenario whose checks fail. */
export function sweep(results) {
  const made = withPeers(results);
  const types = ["float32", "bfloat16", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"];
  const [first] = made.runs;
  made.runs = types.map((dtype, index) => {
    const run = structuredClone(first);
    run.dtype = dtype;
    run.summary.samples_per_s = spread(first.summary.samples_per_s.median * (1 + 0.03 * index));
    if (index) run.peers = [];
    return run;
  });
  const evil = structuredClone(first);
  evil.name = evil.scenario.name = evil.scenario.description = EVIL;
  evil.dataset.arrays[0].name = `/data/${EVIL}`;
  evil.peers[0].name = evil.peers[1].equality.note = evil.peers[2].unavailable = EVIL;
  evil.peers[0].setting = evil.peers[0].search[0].setting = { [EVIL]: EVIL };
  evil.checks[0].passed = false;
  evil.checks[0].detail = EVIL;
  made.machine.cpu = made.versions[EVIL] = EVIL;
  made.command.push(EVIL);
  made.runs.push(evil);
  return made;
}

/** The same, but far faster and with a far later first batch in every round, on another machine. */
export function faster(results) {
  const made = structuredClone(results);
  made.machine.cpu = "Another Processor";
  for (const round of made.runs[0].rounds) {
    round.samples_per_s += 1e6;
    round.first_batch_s += 60;
  }
  return made;
}
