//! Random schedules of streams, events and host waits, against two models that know nothing of the driver's inside: the
//! bytes after executing all calls one by one, and the order of any two calls by the closure of their edges.

use crate::support::{Random, Soft, ok};

/// Bytes of the one allocation that all work shares.
const BYTES: usize = 128;
/// Handles: the legacy default stream, the per-thread one, two blocking and two non-blocking streams.
const STREAMS: usize = 6;
/// Items of one schedule, waits and records included; the closure is a bit set of them.
const ITEMS: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Legacy,
    Blocking,
    Free,
}

const KINDS: [Kind; STREAMS] = [Kind::Legacy, Kind::Blocking, Kind::Blocking, Kind::Blocking, Kind::Free, Kind::Free];

/// Order as the program asked for it.
struct Model {
    /// For each item, those that are before it, and itself.
    before: Vec<u128>,
    last: [Option<usize>; STREAMS],
    /// What the host has waited for.
    host: u128,
    /// What each item reads and writes.
    touches: Vec<(Vec<usize>, Vec<usize>)>,
    bytes: Vec<u8>,
}

impl Model {
    fn past(&self, stream: usize) -> u128 {
        self.last[stream].map_or(0, |item| self.before[item])
    }

    /// What an item that comes now on `stream` would have before it.
    fn next(&self, stream: usize) -> u128 {
        let partner = |other: usize| match KINDS[stream] {
            Kind::Legacy => KINDS[other] == Kind::Blocking,
            Kind::Blocking => KINDS[other] == Kind::Legacy,
            Kind::Free => false,
        };
        let implicit = (0..STREAMS).filter(|&other| partner(other)).fold(0, |all, other| all | self.past(other));
        self.host | self.past(stream) | implicit
    }

    fn add(&mut self, stream: usize, after: u128, reads: Vec<usize>, writes: Vec<usize>) -> u128 {
        let item = self.before.len();
        let before = self.next(stream) | after | 1 << item;
        self.before.push(before);
        self.last[stream] = Some(item);
        self.touches.push((reads, writes));
        before
    }

    /// Whether two items touch a byte, one of them writing.
    fn conflict(&self, (reads, writes): (&[usize], &[usize]), earlier: usize) -> bool {
        let (others_reads, others_writes) = &self.touches[earlier];
        let both = |some: &[usize], others: &[usize]| some.iter().any(|byte| others.contains(byte));
        both(writes, others_writes) || both(writes, others_reads) || both(reads, others_writes)
    }

    fn unordered(&self, before: u128, touches: (&[usize], &[usize])) -> Option<usize> {
        (0..self.before.len()).find(|&item| before & 1 << item == 0 && self.conflict(touches, item))
    }
}

/// What one random schedule came to.
struct Outcome {
    races: bool,
    model: Vec<u8>,
    memory: Vec<u8>,
    waits: usize,
}

/// Makes calls at random. Where `ordered`, adds the event or the host's wait that a conflict lacks.
fn run(soft: &Soft, random: &mut Random, ordered: bool) -> Outcome {
    let streams = [0, 2, soft.blocking_stream(), soft.blocking_stream(), soft.stream(), soft.stream()];
    let memory = soft.place(&[0; BYTES]);
    let events: Vec<u64> = (0..4).map(|_| soft.event()).collect();
    let mut recorded: Vec<Option<u128>> = vec![None; events.len()];
    let mut model =
        Model { before: Vec::new(), last: [None; STREAMS], host: 0, touches: Vec::new(), bytes: vec![0; BYTES] };
    let (mut races, mut waits) = (false, 0);
    let wait_for = |model: &mut Model, stream: usize| {
        ok((soft.cuStreamSynchronize)(streams[stream]));
        // The legacy stream's wait is one for all blocking streams.
        let all = (0..STREAMS).filter(|&other| other == stream || stream == 0 && KINDS[other] != Kind::Free);
        model.host |= all.fold(0, |all, other| all | model.past(other));
    };
    // Without waits of ours, a few short pieces of work: as likely with a race as without one.
    let (steps, longest) = if ordered { (30, 24) } else { (12, 4) };
    for step in 1..=steps {
        let stream = random.below(STREAMS as u64) as usize;
        let event = random.below(events.len() as u64) as usize;
        if model.before.len() + 4 > ITEMS {
            break;
        }
        match random.below(10) {
            0 => {
                ok((soft.cuEventRecord)(events[event], streams[stream]));
                recorded[event] = Some(model.add(stream, 0, Vec::new(), Vec::new()));
            }
            1 | 2 => {
                let Some(before) = recorded[event] else { continue };
                ok((soft.cuStreamWaitEvent)(streams[stream], events[event], 0));
                model.add(stream, before, Vec::new(), Vec::new());
            }
            3 if random.below(3) == 0 => wait_for(&mut model, stream),
            4 if random.below(3) == 0 => {
                let Some(before) = recorded[event] else { continue };
                ok((soft.cuEventSynchronize)(events[event]));
                model.host |= before;
            }
            kind => {
                let length = 1 + random.below(longest) as usize;
                let to = random.below((BYTES - length) as u64) as usize;
                let from = (to + length + random.below((BYTES - 2 * length) as u64) as usize) % (BYTES - length);
                let writes: Vec<usize> = (to..to + length).collect();
                let reads: Vec<usize> = if kind < 7 { Vec::new() } else { (from..from + length).collect() };
                while let Some(other) = model.unordered(model.next(stream), (&reads, &writes)) {
                    if !ordered {
                        races = true;
                        break;
                    }
                    waits += 1;
                    let behind =
                        (0..STREAMS).find(|&behind| model.past(behind) & 1 << other != 0).expect("it was enqueued");
                    if random.below(4) == 0 {
                        wait_for(&mut model, behind);
                    } else {
                        ok((soft.cuEventRecord)(events[event], streams[behind]));
                        let before = model.add(behind, 0, Vec::new(), Vec::new());
                        recorded[event] = Some(before);
                        ok((soft.cuStreamWaitEvent)(streams[stream], events[event], 0));
                        model.add(stream, before, Vec::new(), Vec::new());
                    }
                }
                let place = |byte: usize| memory + byte as u64;
                if reads.is_empty() {
                    ok((soft.cuMemsetD8Async)(place(to), step, length, streams[stream]));
                    model.bytes[to..to + length].fill(step);
                } else {
                    ok((soft.cuMemcpyDtoDAsync_v2)(place(to), place(from), length, streams[stream]));
                    model.bytes.copy_within(from..from + length, to);
                }
                model.add(stream, 0, reads, writes);
            }
        }
    }
    ok((soft.cuCtxSynchronize)());
    let bytes = soft.read(memory, BYTES);
    for &stream in &streams[2..] {
        ok((soft.cuStreamDestroy_v2)(stream));
    }
    for event in events {
        ok((soft.cuEventDestroy_v2)(event));
    }
    ok((soft.cuMemFree_v2)(memory));
    Outcome { races, model: model.bytes, memory: bytes, waits }
}

#[test]
fn a_thousand_ordered_schedules_give_what_one_by_one_gives() {
    let soft = Soft::ready(&[("delay_us", "30"), ("seed", "7")]);
    let mut waits = 0;
    for seed in 1..=1000 {
        let outcome = run(&soft, &mut Random(seed), true);
        assert_eq!(outcome.memory, outcome.model, "seed {seed}");
        soft.expect_none();
        waits += outcome.waits;
    }
    assert!(waits > 5000, "{waits} waits: the schedules hardly meet");
}

#[test]
fn a_race_is_reported_if_and_only_if_there_is_one() {
    // No delays: what is reported follows from the calls, whatever the threads did.
    let soft = Soft::ready(&[]);
    let mut racy = 0;
    for seed in 1..=1000 {
        let outcome = run(&soft, &mut Random(seed * 7919), false);
        let kinds = soft.violations();
        assert_eq!(kinds.iter().any(|kind| kind == "race"), outcome.races, "seed {seed}: {kinds:?}");
        assert!(kinds.iter().all(|kind| kind == "race"), "seed {seed}: {}", soft.report());
        ok((soft.soft_cuda_clear_violations)());
        racy += usize::from(outcome.races);
    }
    assert!((100..1000).contains(&racy), "{racy} of 1000 had races");
}
