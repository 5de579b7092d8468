//! What the runtime pretends to be.

/// How devices share memory with the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tier {
    /// `cl_intel_unified_shared_memory`, and fine-grained SVM.
    Usm,
    /// Fine-grained SVM of buffers.
    Fine,
    /// Coarse-grained SVM.
    Coarse,
    /// Buffers only.
    Buffers,
}

/// The configuration: from variables `STRIDEWISE_STUB_TIER` and so on, and commands.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) tier: Tier,
    /// Root devices.
    pub(crate) devices: usize,
    pub(crate) fp64: bool,
    pub(crate) fp16: bool,
    /// Whether they are processors; graphics processors otherwise.
    pub(crate) cpu: bool,
    /// Global memory of a device in bytes.
    pub(crate) memory_bytes: usize,
    /// Largest allocation in bytes.
    pub(crate) allocation_bytes: usize,
    /// Compute units of a device.
    pub(crate) units: usize,
    /// Host code that touches memory which is not the host's ends with a fault.
    pub(crate) protects: bool,
    /// Callbacks run on a thread of their own.
    pub(crate) callbacks_on_thread: bool,
    /// Commands run only after a flush.
    pub(crate) needs_flush: bool,
    /// Of several commands that may run, the last one does.
    pub(crate) last_first: bool,
}

/// Keys of the configuration.
const KEYS: &[&str] = &[
    "tier",
    "devices",
    "fp64",
    "fp16",
    "type",
    "memory",
    "allocation",
    "units",
    "protect",
    "callbacks",
    "flush",
    "order",
];

impl Config {
    /// The configuration that the environment gives.
    pub(crate) fn from_environment() -> Self {
        let mut config = Self {
            tier: Tier::Coarse,
            devices: 1,
            fp64: true,
            fp16: false,
            cpu: false,
            memory_bytes: 1 << 30,
            allocation_bytes: 1 << 28,
            units: 4,
            protects: false,
            callbacks_on_thread: false,
            needs_flush: false,
            last_first: false,
        };
        for key in KEYS {
            if let Ok(value) = std::env::var(format!("STRIDEWISE_STUB_{}", key.to_uppercase()))
                && !config.set(key, &value)
            {
                eprintln!("the OpenCL stub does not know {value:?} for {key}");
            }
        }
        config
    }

    /// Changes an entry; `false` where the key or the value is unknown.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> bool {
        let number = value.parse::<usize>();
        let choice = |no: &str, yes: &str| match value {
            value if value == yes => Some(true),
            value if value == no => Some(false),
            _ => None,
        };
        fn put<T>(place: &mut T, value: Option<T>) -> bool {
            value.map(|value| *place = value).is_some()
        }
        match key {
            "tier" => {
                let tier = match value {
                    "usm" => Some(Tier::Usm),
                    "fine" => Some(Tier::Fine),
                    "coarse" => Some(Tier::Coarse),
                    "buffers" => Some(Tier::Buffers),
                    _ => None,
                };
                put(&mut self.tier, tier)
            }
            "devices" => put(&mut self.devices, number.ok()),
            "memory" => put(&mut self.memory_bytes, number.ok()),
            "allocation" => put(&mut self.allocation_bytes, number.ok()),
            "units" => put(&mut self.units, number.ok()),
            "fp64" => put(&mut self.fp64, choice("0", "1")),
            "protect" => put(&mut self.protects, choice("0", "1")),
            "fp16" => put(&mut self.fp16, choice("0", "1")),
            "type" => put(&mut self.cpu, choice("gpu", "cpu")),
            "callbacks" => put(&mut self.callbacks_on_thread, choice("caller", "thread")),
            "flush" => put(&mut self.needs_flush, choice("implicit", "needed")),
            "order" => put(&mut self.last_first, choice("first", "last")),
            _ => false,
        }
    }

    /// Whether the runtime has SVM at all.
    pub(crate) fn svm(&self) -> bool {
        self.tier != Tier::Buffers
    }
}
