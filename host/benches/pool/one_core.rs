//! What one core does: instances, and calls one after the other.

use crate::{DOCUMENT, Random, SECOND, crops, pool, request, spec, thread_cpu, wanted};
use damacy::pool::{Arrays, Document, PlanJob};
use damacy::sandbox::{GuestLimits, Sandbox};
use damacy_core::metadata::{ArrayMetadata, ZarrFormat};
use std::hint::black_box;
use std::time::Instant;

fn a_second(name: &str, work: &mut dyn FnMut()) {
    if wanted().is_some_and(|word| !name.contains(&word)) {
        return;
    }
    let mut best = f64::MAX;
    for _ in 0..5 {
        let (started, cpu, mut calls) = (Instant::now(), thread_cpu(), 0u32);
        while started.elapsed() < SECOND / 4 {
            work();
            calls += 1;
        }
        best = best.min((thread_cpu() - cpu) / f64::from(calls));
    }
    println!("{name:<44} {:>9.0} a second of CPU time, {:>6.1} us", 1.0 / best, 1e6 * best);
}

pub(crate) fn one_core(arrays: &[ArrayMetadata]) {
    let sandbox = Sandbox::shared().expect("a sandbox");
    a_second("an instance", &mut || drop(black_box(sandbox.guest(GuestLimits::default()).expect("a guest"))));
    let pool = pool();
    let spec = spec();
    let crops: Vec<_> = (0..64).map(|seed| crops(&mut Random(seed))).collect();
    let mut next = 0;
    let mut job = || {
        next = (next + 1) % crops.len();
        PlanJob::new(&spec, Arrays::Parsed(arrays), &crops[next])
    };
    let tenant = pool.tenant("one");
    a_second("plan, arrays parsed before", &mut || {
        let answer = tenant.plan(&job()).expect("a plan");
        assert_eq!(answer.value.plan.uses.len(), 8 * 27);
    });
    a_second("validate, arrays parsed before", &mut || drop(tenant.validate(&job()).expect("valid")));
    let documents = [Document { format: ZarrFormat::V3, bytes: DOCUMENT }];
    let from_documents =
        |job: PlanJob<'_>| drop(tenant.plan(&PlanJob { arrays: Arrays::Documents(&documents), ..job }));
    a_second("plan, from a document", &mut || from_documents(job()));
    a_second("parse a document", &mut || drop(tenant.parse_metadata(&documents[0]).expect("an array")));
    let mut guest = sandbox.guest(GuestLimits::default()).expect("a guest");
    a_second("plan, in a kept instance", &mut || {
        let job = job();
        let request = request(&spec, arrays, job.samples);
        drop(black_box(guest.plan(&request).expect("a plan")));
    });
}
