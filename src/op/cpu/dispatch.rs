//! Compiles kernels for every instruction set of [`Instructions`](crate::execution::Instructions) and chooses one at
//! run time.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::execution::Instructions;
use crate::execution::{Execution, Target};

/// A loop nest that is compiled once for each instruction set. Implementations mark `run` with `#[inline(always)]`, so
/// it is compiled for the instruction set of the function that calls it. The constant `FMA` tells the loop nest whether
/// a fused multiply-add is one instruction.
pub trait Kernel {
    fn run<const FMA: bool>(self);
}

/// Returns the instruction set that the calling thread asks for. A primitive calls this function before it starts other
/// threads, because their [`Execution`] may name a different instruction set.
pub fn target() -> Target {
    Execution::current().target()
}

/// Runs a kernel with the instruction set of `target`.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_variables))]
pub fn dispatch<K: Kernel>(target: Target, kernel: K) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512<K: Kernel>(kernel: K) {
            kernel.run::<true>();
        }

        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(kernel: K) {
            kernel.run::<true>();
        }

        match target.instructions() {
            // SAFETY: a target is made only of instructions that have been detected, every feature of them.
            Instructions::Avx512 => return unsafe { avx512(kernel) },
            // SAFETY: as above.
            Instructions::Avx2 => return unsafe { avx2(kernel) },
            _ => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if target.instructions() == Instructions::Neon {
        return kernel.run::<true>();
    }
    kernel.run::<false>();
}
