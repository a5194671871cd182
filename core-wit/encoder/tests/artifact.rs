//! The committed component: up to date, self-contained, importing nothing.

use damacy_encoder::{COMPONENT, Manifest};
use std::fs;
use std::path::PathBuf;
use wit_component::DecodedWasm;
use wit_parser::{Resolve, WorldItem};

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("core-wit/encoder lies in the tree")
}

fn prebuilt() -> PathBuf {
    workspace().join(COMPONENT.folder)
}

fn component() -> Vec<u8> {
    fs::read(prebuilt().join(COMPONENT.file)).expect("the component is committed")
}

#[test]
fn was_built_from_these_sources() {
    let stale = Manifest::read(&prebuilt()).and_then(|manifest| manifest.stale(&COMPONENT, &workspace()));
    assert_eq!(stale.expect("the manifest is readable"), Vec::<String>::new());
}

#[test]
fn a_changed_source_or_component_is_noticed() {
    let mut manifest = Manifest::read(&prebuilt()).expect("the manifest is readable");
    manifest.sources_sha256 = "0".repeat(64);
    manifest.sha256 = "0".repeat(64);
    manifest.crates.push("serde 0.0.1".into());
    let stale = manifest.stale(&COMPONENT, &workspace()).expect("the files are readable");
    assert_eq!(stale.len(), 3, "{stale:?}");
    assert!(stale.iter().all(|reason| reason.ends_with("run core-wit/build-component.sh")), "{stale:?}");
}

#[test]
fn imports_nothing_and_exports_the_world() {
    let DecodedWasm::Component(found, world) = wit_component::decode(&component()).expect("a component") else {
        panic!("a WIT package, not a component");
    };
    let world = &found.worlds[world];
    assert!(world.imports.is_empty(), "imports {:?}", world.imports.keys());

    let mut declared = Resolve::default();
    let (package, _) = declared.push_dir(workspace().join("wit")).expect("wit/ is valid");
    let core = declared.select_world(&[package], Some("core")).expect("the world `core`");
    let names = |resolve: &Resolve, world: &wit_parser::World| {
        let name = |item: &WorldItem| match item {
            WorldItem::Interface { id, .. } => resolve.id_of(*id).expect("a named interface"),
            other => panic!("exports {other:?}, which is no interface"),
        };
        let mut names: Vec<String> = world.exports.values().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&found, world), names(&declared, &declared.worlds[core]));
    for (_, interface) in &declared.interfaces {
        let name = interface.name.as_deref().expect("a name");
        let same = found.interfaces.iter().find(|(_, other)| other.name.as_deref() == Some(name)).expect("exported").1;
        assert!(interface.functions.keys().eq(same.functions.keys()), "functions of {name} differ");
        assert!(interface.types.keys().eq(same.types.keys()), "types of {name} differ");
    }
}

#[test]
fn holds_no_path_of_its_builder() {
    let component = component();
    let holds = |needle: &str| component.windows(needle.len()).any(|window| window == needle.as_bytes());
    for needle in ["/home/", "/root/", "/tmp/", "/work/", "/usr/", "/Users/", ".cargo", "registry/src", ".rs:"] {
        assert!(!holds(needle), "the component holds {needle:?}");
    }
    let workspace = workspace();
    assert!(!holds(&workspace.to_string_lossy()));
}

#[test]
fn is_small() {
    let bytes = component().len();
    assert!(bytes < 300 << 10, "{bytes} bytes");
}
