//! What is known of a program without a symbol table.

use crate::build::{compile, image};
use llmdbg::base::addr::{ElfAddr, LoadBias, VirtAddr};
use llmdbg::symbols::image::Image;
use llmdbg::symbols::location;
use llmdbg::symbols::modules::Modules;
use llmdbg::symbols::name::Query;
use llmdbg::symbols::resolve::{Purpose, resolve};
use llmdbg::symbols::symtab::SymbolKind;
use std::rc::Rc;

const BUILDS: [&[&str]; 4] = [
    &["-O1"],
    &["-O1", "-fno-pie", "-no-pie", "-Wl,-z,lazy"],
    &[
        "-O1",
        "-fcf-protection=full",
        "-Wl,-z,lazy",
        "-Wl,-z,ibtplt",
    ],
    &["-O1", "-static"],
];

fn addr_of(image: &Image, name: &str) -> Option<ElfAddr> {
    let found = image.symbols().find(&Query::new(name));
    found.first().map(|found| found.symbol.addr)
}

fn name_at(image: &Image, addr: ElfAddr) -> Option<(String, u64, SymbolKind)> {
    let (symbol, offset) = image.symbols().at(addr)?;
    Some((symbol.name().into_owned(), offset, symbol.kind))
}

#[test]
fn functions_without_a_name_are_called_by_their_address() {
    let folder = tempfile::tempdir().unwrap();
    for flags in BUILDS {
        let full = image(&compile(folder.path(), "calls.c", "full", flags));
        let flags: Vec<&str> = flags.iter().chain(&["-s"]).copied().collect();
        let bare = image(&compile(folder.path(), "calls.c", "bare", &flags));
        for function in ["hidden", "shown", "main"] {
            let addr = addr_of(&full, function).unwrap();
            let name = format!("fn_{:x}", addr.raw());
            let inside = addr.checked_add(2).unwrap();
            let expected = (name.clone(), 2, SymbolKind::Unnamed);
            assert_eq!(name_at(&bare, inside), Some(expected), "{flags:?}");
            assert_eq!(addr_of(&bare, &name), Some(addr), "{flags:?}");
            let real = (function.to_owned(), 2, SymbolKind::Function);
            assert_eq!(name_at(&full, inside), Some(real), "{flags:?}");
            assert_eq!(addr_of(&full, &name), None, "{flags:?}");
        }
    }
}

#[test]
fn stubs_are_named_for_what_they_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    for flags in &BUILDS[..3] {
        for strip in [&[][..], &["-s"]] {
            let flags: Vec<&str> = flags.iter().chain(strip).copied().collect();
            let image = image(&compile(folder.path(), "calls.c", "calls", &flags));
            for function in ["printf", "getenv"] {
                let name = format!("{function}@plt");
                let found = image.symbols().find(&Query::new(&name));
                assert!(!found.is_empty(), "{name} {flags:?}");
                for stub in found {
                    let place = image.section_at(stub.symbol.addr).unwrap();
                    assert!(image.section_name(place).starts_with(b".plt"));
                    let inside = stub.symbol.addr.checked_add(4).unwrap();
                    assert_eq!(
                        name_at(&image, inside),
                        Some((name.clone(), 4, SymbolKind::Stub))
                    );
                }
                assert_eq!(addr_of(&image, function), None, "{flags:?}");
            }
        }
    }
    let image = image(&compile(folder.path(), "calls.c", "static", &["-static"]));
    assert!(addr_of(&image, "chosen@plt").is_some());
}

#[test]
fn a_chosen_function_is_known_by_where_its_address_will_be() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [
        &["-O1"][..],
        &["-O1", "-static"],
        &["-O1", "-no-pie", "-fno-pie"],
    ] {
        let image = image(&compile(folder.path(), "calls.c", "calls", flags));
        let got = image.section(".got").map(|section| section.addr);
        let mut modules = Modules::new();
        modules.add("/calls".into(), LoadBias::new(0x1000_0000), Rc::new(image));
        let location = location::parse("chosen").unwrap();
        let places = resolve(&modules, &location, Purpose::Breakpoint).unwrap();
        let [place] = places.as_slice() else {
            panic!("{places:?}");
        };
        assert_eq!(place.kind, Some(SymbolKind::IndirectFunction));
        assert_eq!(place.target_slots.len(), 1, "{flags:?}");
        assert!(got.is_some_and(|got| place.target_slots[0] > VirtAddr::new(got.raw())));
    }
}
