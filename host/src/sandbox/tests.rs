//! What only the inside can test: interfaces that the host itself does not call, and traps.

use super::bindings::exports::damacy::core::types;
use super::instance::{instantiate, trapped};
use super::limiter::Limiter;
use super::runtime::{Allocator, Metering, Runtime};
use super::{Extra, GuestLimits, Sandbox};
use crate::{ByteOrder, Dtype, SourceType, Status};
use damacy_core::convert::Kernel;
use damacy_core::metadata::{ArrayMetadata, KeyEncoding, ZarrFormat};
use wasmtime::component::WasmList;
use wasmtime::{Error, Store, Trap};

fn instance(runtime: &Runtime) -> (Store<Limiter>, super::bindings::Core) {
    let mut store = Store::new(runtime.pre.engine(), Limiter::new(1 << 30));
    store.set_epoch_deadline(1 << 40);
    let core = runtime.pre.instantiate(&mut store).expect("an instance");
    (store, core)
}

#[test]
fn the_tables_of_types_are_ours() {
    let sandbox = Sandbox::shared().expect("a sandbox");
    let (mut store, core) = instance(&sandbox.main);
    let dtypes = core.damacy_core_dtypes();

    let outputs = dtypes.call_outputs(&mut store).expect("no trap");
    assert_eq!(outputs.len(), Dtype::ALL.len());
    for (value, (info, dtype)) in outputs.iter().zip(Dtype::ALL).enumerate() {
        assert_eq!(Dtype::from(info.dtype), dtype);
        assert_eq!((info.dtype as usize, dtype as usize), (value, value));
        assert_eq!((&*info.short_name, &*info.full_name), (dtype.short_name(), dtype.full_name()));
        assert_eq!(info.width as usize, dtype.width());
        assert_eq!((info.dlpack_code, info.dlpack_bits), (dtype.dlpack().code, dtype.dlpack().bits));
        for name in [dtype.short_name().to_uppercase(), dtype.full_name().into()] {
            assert_eq!(dtypes.call_parse(&mut store, &name).expect("no trap").map(Dtype::from), Some(dtype));
        }
    }
    assert!(dtypes.call_parse(&mut store, "float64").expect("no trap").is_none());

    let sources = dtypes.call_sources(&mut store).expect("no trap");
    assert_eq!(sources.len(), SourceType::ALL.len());
    for (info, source) in sources.iter().zip(SourceType::ALL) {
        assert_eq!(SourceType::from(info.source), source);
        assert_eq!((&*info.short_name, &*info.full_name), (source.short_name(), source.full_name()));
        assert_eq!(info.width as usize, source.width());
        let parsed = dtypes.call_parse_source(&mut store, source.full_name()).expect("no trap");
        assert_eq!(parsed.map(SourceType::from), Some(source));
    }
    assert!(dtypes.call_parse_source(&mut store, "bool").expect("no trap").is_none());
}

#[test]
fn object_keys_are_the_native_ones() {
    let sandbox = Sandbox::shared().expect("a sandbox");
    let (mut store, core) = instance(&sandbox.main);
    for (key_encoding, key) in [
        (KeyEncoding::Default { separator: '/' }, "c/3/4"),
        (KeyEncoding::Default { separator: '.' }, "c.3.4"),
        (KeyEncoding::V2 { separator: '.' }, "3.4"),
    ] {
        let array = ArrayMetadata {
            format: ZarrFormat::V3,
            shape: vec![100, 100],
            data_type: "uint8".into(),
            source: Some(SourceType::U8),
            byte_order: ByteOrder::Little,
            fortran_order: false,
            levels: vec![vec![10, 10]],
            key_encoding,
            fill_value: vec![0],
            codecs: vec!["bytes".into()],
        };
        let lists = super::map::ArrayLists::new(&array);
        let param = super::map::array_param(&array, &lists);
        let found = core.damacy_core_metadata().call_object_key(&mut store, param, &[3, 4]).expect("no trap");
        assert_eq!(found, key);
        assert_eq!(array.object_key(&[3, 4]), key);
    }
}

#[test]
fn owned_results_are_the_native_ones() {
    let sandbox = Sandbox::shared().expect("a sandbox");
    let (mut store, core) = instance(&sandbox.main);
    let convert = core.damacy_core_convert();
    let src: Vec<u8> = (0..=255).collect();
    for source in SourceType::ALL {
        for output in Dtype::ALL {
            let kernel = Kernel::select(source, ByteOrder::Big, output);
            let mut expected = vec![0; src.len() / source.width() * output.width()];
            kernel.convert(&src, &mut expected).expect("it fits");
            let arguments = (source.into(), ByteOrder::Big.into(), output.into());
            let found = convert.call_elements(&mut store, arguments.0, arguments.1, arguments.2, &src);
            assert_eq!(found.expect("no trap").expect("converts"), expected, "{source} -> {output}");
        }
    }
}

#[test]
fn a_ragged_source_is_refused_in_words_or_left_out() {
    let sandbox = Sandbox::shared().expect("a sandbox");
    let (mut store, core) = instance(&sandbox.main);
    let convert = core.damacy_core_convert();
    let (source, order, output) = (SourceType::U16.into(), ByteOrder::Little.into(), Dtype::U8.into());

    let refused = convert.call_elements(&mut store, source, order, output, &[1, 0, 2]).expect("no trap");
    let types::Error::InvalidArgument(problem) = refused.expect_err("three bytes are no u16") else {
        panic!("a status")
    };
    assert_eq!(problem.message, "the source has 3 bytes; accepted is a multiple of 2, the bytes of an element");

    for (elements, expected) in [(&[1, 0, 2][..], &[1][..]), (&[1], &[]), (&[], &[]), (&[0, 1, 3, 0], &[255, 3])] {
        let found = convert.call_elements_in_place(&mut store, source, order, output, elements).expect("no trap");
        assert_eq!(found, expected, "{elements:?}");
    }
}

#[test]
fn a_result_in_place_outlives_other_calls_but_not_the_next_conversion() {
    let sandbox = Sandbox::shared().expect("a sandbox");
    let (mut store, core) = instance(&sandbox.main);
    let function = core.damacy_core_convert().func_elements_in_place();
    type Params = (types::Source, types::ByteOrder, types::Dtype, Vec<u8>);
    let function = function.func().typed::<Params, (WasmList<u8>,)>(&store).expect("the world's type");
    let arguments = |bytes: &[u8]| (SourceType::U8.into(), ByteOrder::Little.into(), Dtype::I8.into(), bytes.to_vec());

    let (first,) = function.call(&mut store, arguments(&[1, 2, 200])).expect("no trap");
    assert_eq!(first.as_le_slice(&store), [1, 2, 127]);
    let names = core.damacy_core_dtypes().call_outputs(&mut store).expect("no trap");
    assert_eq!((names.len(), first.as_le_slice(&store)), (10, &[1, 2, 127][..]));
    let (second,) = function.call(&mut store, arguments(&[3, 4, 5])).expect("no trap");
    assert_eq!((first.as_le_slice(&store), second.as_le_slice(&store)), (&[3, 4, 5][..], &[3, 4, 5][..]));
}

#[test]
fn every_allocator_makes_working_instances() {
    for allocator in [Allocator::LargePool, Allocator::SmallPool, Allocator::OnDemand] {
        let runtime = Runtime::with(allocator, Metering::Off).expect("fits this machine");
        let (mut store, core) = instance(&runtime);
        let parsed = core.damacy_core_dtypes().call_parse(&mut store, "bf16").expect("no trap");
        assert_eq!(parsed.map(Dtype::from), Some(Dtype::Bf16), "{allocator:?}");
    }
}

#[test]
fn a_trap_is_an_internal_error_that_names_the_call() {
    let limits = GuestLimits::default();
    let trap = Error::from(Trap::UnreachableCodeReached);
    let (error, stop) = trapped("planning", limits, &Extra::default(), &Limiter::new(limits.memory_bytes), &trap);
    assert_eq!(stop, None);
    assert_eq!(error.status, Status::Internal);
    assert!(error.message.starts_with("planning trapped in the sandbox"), "{error}");
    assert!(error.message.contains("only this call failed"), "{error}");
}

#[test]
fn an_estimate_without_one_size_for_each_output_type_is_refused() {
    use super::bindings::exports::damacy::core::cost as wit;
    use crate::cost::Report;
    let report = |sizes: usize| wit::Report {
        certainty: wit::Certainty::Exact,
        samples: 1,
        windows: 1,
        elements: 1,
        output_bytes: (1..).take(sizes).collect(),
        needed_bytes: 1,
        uses: 1.0,
        chunks: 1.0,
        objects: 1.0,
        decoded_bytes: 1,
        read_bytes: None,
        largest_chunk_bytes: 1,
        decode_waste: 1.0,
        use_waste: 1.0,
        read_waste: None,
        host: wit::HostMemory {
            cache_bytes: 0,
            batch_bytes: 1,
            buffers: 2,
            decode_bytes: 3,
            workers: 4,
            plan_bytes: 5,
            total_bytes: 6,
            least_bytes: 7,
        },
        device: wit::DeviceMemory { output_bytes: 1, staging_bytes: 2, table_bytes: 3, total_bytes: 4 },
        layout: None,
        look_ahead: None,
    };
    let read = Report::try_from(report(10)).expect("ten sizes");
    assert_eq!(read.estimate.output_bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for sizes in [0, 9, 11] {
        let error = Report::try_from(report(sizes)).expect_err("not ten sizes");
        assert_eq!(error.status, Status::Internal);
        assert!(error.message.contains(&format!("{sizes} output sizes for 10 output types")), "{error}");
    }
}

#[test]
fn metered_guests_beyond_the_slots_get_memory_on_demand() {
    let sandbox = Sandbox::new().expect("a sandbox");
    let limits = GuestLimits::default();
    let extra = Extra { fuel: Some(1 << 40), ..Extra::default() };
    let slots = sandbox.runtime(Metering::Fuel).expect("a runtime").allocator.slots();
    let guests: Vec<_> = (0..slots.min(2000))
        .map(|_| instantiate(&sandbox, limits, &extra, 0).map_err(|(error, _)| error).expect("an instance"))
        .collect();
    let more = instantiate(&sandbox, limits, &extra, 0).map_err(|(error, _)| error).expect("one more");
    assert_eq!(more.runtime.allocator, Allocator::OnDemand);
    assert!(more.store.get_fuel().is_ok(), "counted too");
    drop(guests);
}

#[test]
fn what_a_pools_limits_need_is_compiled_with_the_limits() {
    use crate::pool::{PlannerPool, PoolConfig, TenantLimits};
    let made = |lazy: &super::Lazy| lazy.lock().expect("no panic").is_some();
    let sandbox = Sandbox::new().expect("a sandbox");
    sandbox.prepare(1 << 20, Metering::Off, 1).expect("nothing to do");
    assert!(!made(&sandbox.metered) && !made(&sandbox.spare));
    sandbox.prepare(1 << 20, Metering::Off, usize::MAX).expect("more than the slots");
    assert!(!made(&sandbox.metered) && made(&sandbox.spare));

    let shared = Sandbox::shared().expect("a sandbox");
    let pool = PlannerPool::new(PoolConfig::default()).expect("a pool");
    assert!(!made(&shared.metered));
    pool.set_limits("a", TenantLimits { fuel: Some(1), ..TenantLimits::default() }).expect("limits");
    assert!(made(&shared.metered));
}
