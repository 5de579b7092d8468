//! Programs: random operations, views and writes in place, against the serial oracle of the tests of the scheduler.

use std::sync::OnceLock;

use stridewise::Device;
use stridewise_null::{NullConfig, NullDevice};

use crate::graphs::{Graph, Side};
use crate::model::Model;
use crate::random::Rng;

pub(crate) fn run(data: &[u8]) {
    let mut rng = Rng::new(data);
    // On a device that completes commands in an order of the program's choice, or on the host; computed at once, or
    // recorded.
    let (null, elements, most) = match rng.below(64) {
        0..40 => (true, 6, 60),
        40..47 => (true, 1100, 20),
        47..62 => (false, 6, 60),
        _ => (false, 9000, 8),
    };
    let operations = (1 + data.len() / 6).min(most);
    if null {
        let null = NullDevice::new(NullConfig::default());
        let device = Device::from_backend(std::sync::Arc::new(null.clone()));
        Graph::new("the input", rng, &device, Side::Null(Model::new(null.clone())), elements).run(operations);
        assert_eq!(device.pool_statistics().live_bytes, 0, "memory is still in use");
        drop(device);
        assert_eq!((null.live_allocations().len(), null.wrong_frees()), (0, 0));
    } else {
        static HOST: OnceLock<Device> = OnceLock::new();
        let device =
            HOST.get_or_init(|| Device::from_backend(stridewise_host::device_with(None, 2).unwrap()));
        Graph::new("the input", rng, device, Side::Real, elements).run(operations);
    }
}
