use damacy_ptx::*;
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let t = std::time::Instant::now();
    let module = match Module::parse(&text) { Ok(m) => m, Err(e) => { println!("{e}"); return; } };
    println!("parsed in {:?}", t.elapsed());
    let heap = Heap::default();
    let n = 1_000_000u64;
    let src: Vec<u8> = (0..n).flat_map(|i| ((i as f32) * 0.37 - 1000.0).to_le_bytes()).collect();
    let a = heap.place(&src);
    let b = heap.allocate(n as usize * 4);
    for races in [Races::Ignore, Races::Report] {
    let t = std::time::Instant::now();
    let p = [a.to_le_bytes(), b.to_le_bytes(), n.to_le_bytes()];
    let p: Vec<&[u8]> = p.iter().map(|x| &x[..]).collect();
    let s = module.kernel("f32_i16").unwrap().launch(&Launch { races, ..Launch::new(16, 128, &p) }, &heap);
    match s { Err(e) => println!("{e}"), Ok(s) => println!("{:?} {s:?}", t.elapsed()) }
    }
    let out = heap.read(b, 2 * n as usize).unwrap();
    for (i, o) in out.chunks(2).enumerate() {
        let e = ((i as f32) * 0.37 - 1000.0) as i16;
        assert_eq!(i16::from_le_bytes([o[0], o[1]]), e);
    }
}
