//! Drivers are asked for their devices when one of these may be wanted, and once.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stridewise_core::backend::{Device as Backend, DeviceType, Driver, INTERFACE};
use stridewise_core::{Device, default_device, devices, each_device};
use stridewise_null::{NullConfig, NullDriver};

/// A driver without devices that counts how often it is asked for them.
struct Spy(&'static str, &'static AtomicUsize);

impl Driver for Spy {
    fn name(&self) -> &'static str {
        self.0
    }
    fn interface(&self) -> u32 {
        INTERFACE
    }
    fn devices(&self) -> Vec<Arc<dyn Backend>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Vec::new()
    }
    fn may_have(&self, device_type: DeviceType) -> bool {
        device_type == DeviceType::Accelerator
    }
}

static BEFORE: AtomicUsize = AtomicUsize::new(0);
static BEHIND: AtomicUsize = AtomicUsize::new(0);

fn before() -> Arc<dyn Driver> {
    Arc::new(Spy("a_spy", &BEFORE))
}
fn behind() -> Arc<dyn Driver> {
    Arc::new(Spy("z_spy", &BEHIND))
}
fn null() -> Arc<dyn Driver> {
    Arc::new(NullDriver::new(NullConfig::default()))
}
stridewise_core::register_driver!(before);
stridewise_core::register_driver!(behind);
stridewise_core::register_driver!(null);

/// Which step the process is to take.
const STEP: &str = "TEST_STEP";

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn takes_a_step() {
    let step = std::env::var(STEP).unwrap();
    match step.as_str() {
        "default" => println!("<{}>", default_device().unwrap()),
        "next" => println!("<{}>", each_device().next().unwrap()),
        "all" => thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(devices().len(), 1));
            }
        }),
        filter => match Device::select(filter) {
            Ok(device) => println!("<{device}>"),
            Err(error) => println!("<{error}>"),
        },
    }
    println!("<asked {} {}>", BEFORE.load(Ordering::Relaxed), BEHIND.load(Ordering::Relaxed));
}

#[test]
fn a_driver_is_asked_when_one_of_its_devices_may_be_wanted() {
    let under = |step: &str, named: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "takes_a_step", "--ignored", "--nocapture"]);
        child.env_remove("STRIDEWISE_DEVICE").env(STEP, step);
        child.envs(named.map(|named| ("STRIDEWISE_DEVICE", named)));
        let output = child.output().unwrap();
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let cases = [
        // By name, nobody else is asked; nor where the name fits nothing.
        ("null", None, "null:accelerator:0", "0 0"),
        ("null:accelerator:0", None, "null:accelerator:0", "0 0"),
        ("null:gpu,null", None, "null:accelerator:0", "0 0"),
        ("default", Some("null"), "null:accelerator:0", "0 0"),
        ("null:gpu", None, "use one of: null:accelerator:0", "0 0"),
        // By type, one after the other.
        ("accelerator", None, "null:accelerator:0", "1 0"),
        ("z_spy:accelerator,null", None, "null:accelerator:0", "0 1"),
        ("next", None, "null:accelerator:0", "1 0"),
        ("gpu", None, "use one of: null:accelerator:0", "1 1"),
        // There is neither a GPU nor a host.
        ("default", None, "null:accelerator:0", "1 1"),
        // Once, whoever asks.
        ("all", None, "", "1 1"),
    ];
    for (step, named, said, asked) in cases {
        let text = under(step, named);
        let expected = format!("<asked {asked}>");
        assert!(text.contains(said) && text.contains(&expected), "{step} {named:?}, {expected}: {text}");
    }
}
