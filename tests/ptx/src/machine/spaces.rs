//! State spaces and generic addresses (PTX ISA 5.1, 6.4.1.1).
//!
//! Constants, local, shared memory and parameters have addresses from 0 in their own space; their generic addresses lie
//! in windows that no host address reaches. Global addresses are generic ones already.

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Constant,
    Local,
    Shared,
    Parameter,
}

/// Bytes of a window.
const WINDOW: u64 = 1 << 32;

impl Space {
    /// First generic address of the space's window.
    fn window(self) -> u64 {
        match self {
            Self::Global => 0,
            Self::Constant => 0xc000_0000_0000_0000,
            Self::Local => 0xa000_0000_0000_0000,
            Self::Shared => 0xb000_0000_0000_0000,
            Self::Parameter => 0x9000_0000_0000_0000,
        }
    }

    /// The space whose window a generic address is in, and the address there.
    pub fn of_generic(address: u64) -> (Self, u64) {
        for space in [Self::Constant, Self::Local, Self::Shared, Self::Parameter] {
            let offset = address.wrapping_sub(space.window());
            if offset < WINDOW {
                return (space, offset);
            }
        }
        (Self::Global, address)
    }

    /// The generic address of an address in this space.
    ///
    /// # Errors
    /// No address of this space.
    pub fn to_generic(self, address: u64) -> Result<u64, String> {
        match self {
            // Initialised variables are in the window of constants.
            Self::Global if matches!(Self::of_generic(address).0, Self::Global | Self::Constant) => Ok(address),
            Self::Global => Err(format!("{address:#x} is no global address")),
            _ if address < WINDOW => Ok(self.window() + address),
            _ => Err(format!("{address:#x} is no {} address", self.name())),
        }
    }

    /// The address in this space of a generic address.
    ///
    /// # Errors
    /// The address is in another space: the ISA leaves the result undefined.
    pub fn of_its_own(self, address: u64) -> Result<u64, String> {
        match Self::of_generic(address) {
            (Self::Global | Self::Constant, _) if self == Self::Global => Ok(address),
            (space, address) if space == self => Ok(address),
            (space, _) => Err(format!("generic address {address:#x} is {}, not {}", space.name(), self.name())),
        }
    }

    /// The name in PTX.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Constant => "const",
            Self::Local => "local",
            Self::Shared => "shared",
            Self::Parameter => "param",
        }
    }
}
