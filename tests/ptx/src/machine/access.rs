//! Loads and stores: alignment, spaces, statistics, races.

use super::code::{Access, Op};
use super::interpreter::{Machine, Registers, Stopped};
use super::spaces::Space;
use crate::{Cause, Direction, Refusal};

impl Machine<'_> {
    pub(super) fn load(
        &mut self,
        number: u32,
        op: &Op,
        access: Access,
        base: u64,
        registers: &mut Registers,
    ) -> Result<(), Stopped> {
        let (space, address) = located(access.space, base, op.offset);
        let (size, bytes) = (usize::from(access.bytes) * usize::from(access.count), usize::from(access.bytes));
        aligned(Direction::Load, address, size)?;
        let mut buffer = [0; 16];
        let buffer = &mut buffer[..size];
        if space == Space::Global {
            self.memory
                .load(address, buffer)
                .map_err(|refusal| refused(Direction::Load, space, address, size, refusal))?;
            self.statistics.loads.by_width[size.ilog2() as usize] += 1;
            if let Some(races) = &mut self.races {
                races.load(number, address, size, access.read_only)?;
            }
        } else {
            buffer.copy_from_slice(self.own(space, address, size)?);
        }
        let slots = &self.program.vectors[usize::from(op.d)..][..usize::from(access.count)];
        for (slot, element) in slots.iter().zip(buffer.chunks_exact(bytes)) {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(element);
            let mut value = u64::from_le_bytes(value);
            if access.extend > 0 {
                let unused = 64 - 8 * u32::from(access.bytes);
                value = ((value << unused) as i64 >> unused) as u64 & u64::MAX >> (64 - access.extend);
            }
            registers[usize::from(*slot)] = value;
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        number: u32,
        op: &Op,
        access: Access,
        base: u64,
        registers: &Registers,
    ) -> Result<(), Stopped> {
        let (space, address) = located(access.space, base, op.offset);
        let (size, bytes) = (usize::from(access.bytes) * usize::from(access.count), usize::from(access.bytes));
        aligned(Direction::Store, address, size)?;
        let mut buffer = [0; 16];
        let buffer = &mut buffer[..size];
        let slots = &self.program.vectors[usize::from(op.d)..][..usize::from(access.count)];
        for (slot, element) in slots.iter().zip(buffer.chunks_exact_mut(bytes)) {
            element.copy_from_slice(&registers[usize::from(*slot)].to_le_bytes()[..bytes]);
        }
        if space == Space::Global {
            self.memory
                .store(address, buffer)
                .map_err(|refusal| refused(Direction::Store, space, address, size, refusal))?;
            self.statistics.stores.by_width[size.ilog2() as usize] += 1;
            if let Some(races) = &mut self.races {
                races.store(number, address, size)?;
            }
        } else {
            self.own_mut(space, address, size)?.copy_from_slice(buffer);
        }
        Ok(())
    }

    /// Bytes of memory of the machine's own, to be read.
    fn own(&mut self, space: Space, address: u64, size: usize) -> Result<&[u8], Stopped> {
        self.count(space, size);
        let memory = match space {
            Space::Parameter => self.parameters,
            Space::Constant => &self.program.constants,
            Space::Local => &self.local,
            Space::Shared => &self.shared,
            Space::Global => unreachable!("global memory is not the machine's own"),
        };
        let range = range(memory.len(), address, size);
        range.map(|range| &memory[range]).map_err(|refusal| refused(Direction::Load, space, address, size, refusal))
    }

    /// Bytes of memory of the machine's own, to be written.
    fn own_mut(&mut self, space: Space, address: u64, size: usize) -> Result<&mut [u8], Stopped> {
        self.count(space, size);
        let memory = match space {
            Space::Local => &mut self.local,
            Space::Shared => &mut self.shared,
            _ => {
                let refusal = Refusal::Other(format!("{} is read-only", space.name()));
                return Err(refused(Direction::Store, space, address, size, refusal));
            }
        };
        let range = range(memory.len(), address, size);
        range
            .map(|range| &mut memory[range])
            .map_err(|refusal| refused(Direction::Store, space, address, size, refusal))
    }

    fn count(&mut self, space: Space, size: usize) {
        let class = match space {
            Space::Local => crate::Space::Local,
            Space::Shared => crate::Space::Shared,
            Space::Constant => crate::Space::Constant,
            Space::Parameter | Space::Global => return,
        };
        self.statistics.other.entry(class).or_default().by_width[size.ilog2() as usize] += 1;
    }
}

fn aligned(access: Direction, address: u64, size: usize) -> Result<(), Cause> {
    if address.is_multiple_of(size as u64) { Ok(()) } else { Err(Cause::Misaligned { access, address, size }) }
}

/// The space that an address is in, and the address there.
fn located(space: Option<Space>, base: u64, offset: i32) -> (Space, u64) {
    let address = base.wrapping_add_signed(offset.into());
    match space {
        // Global addresses are generic ones; those of initialised variables are in the window of constants.
        None | Some(Space::Global) => Space::of_generic(address),
        Some(space) => (space, address),
    }
}

/// The bytes of an access to memory of the machine's own.
fn range(memory: usize, address: u64, size: usize) -> Result<std::ops::Range<usize>, Refusal> {
    let start = usize::try_from(address).ok().filter(|&start| start < memory).ok_or(Refusal::Unallocated)?;
    if size <= memory - start {
        Ok(start..start + size)
    } else {
        Err(Refusal::Overrun { start: 0, size: memory as u64 })
    }
}

fn refused(access: Direction, space: Space, address: u64, size: usize, refusal: Refusal) -> Stopped {
    Cause::Refused { access, space: space.name(), address, size, refusal }.into()
}
