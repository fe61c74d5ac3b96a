//! Compiles kernels for every instruction set of [`Instructions`](crate::execution::Instructions) and chooses one at
//! run time, and chooses how a sum over the pairs of a list is computed.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::execution::Instructions;
use crate::execution::{Execution, SumPath, Target};
use crate::op::cpu::real::Real;

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

/// Returns whether a list is summed by a fast method if its type allows it (see [`in_single`]). The argument
/// `is_faster` states whether a fast method costs less, but the caller's [`SumPath`] may override it.
pub fn is_fast(target: Target, documents: usize, is_faster: bool) -> bool {
    match target.sums() {
        SumPath::Auto => is_faster,
        SumPath::Pairs => false,
        SumPath::Fast => documents > 0,
    }
}

/// Calls `sum` with the arrays of a list. Returns `None`, without a call, if the type is not `f32`: fast methods are
/// not exact enough for `f64`, and are compiled for `f32` only.
pub fn in_single<'a, 'b, T: Real, R, const K: usize, const M: usize>(
    inputs: [&'a [T]; K],
    outputs: [&'b mut [T]; M],
    sum: impl FnOnce([&'a [f32]; K], [&'b mut [f32]; M]) -> R,
) -> Option<R> {
    let (inputs, outputs) = (inputs.map(T::singles), outputs.map(T::singles_mut));
    let is_single = inputs.iter().all(Option::is_some);
    is_single.then(|| sum(inputs.map(Option::unwrap_or_default), outputs.map(Option::unwrap_or_default)))
}

#[cfg(test)]
mod tests {
    use super::in_single;

    #[test]
    fn only_lists_in_single_precision_are_summed_by_fast_methods() {
        let sum = |[x]: [&[f32]; 1], [out]: [&mut [f32]; 1]| out.copy_from_slice(x);
        let mut out = [0.0f32; 2];
        assert!(in_single([&[1.0f32, 2.0]], [&mut out], sum).is_some());
        assert_eq!(out, [1.0, 2.0]);
        assert!(in_single([&[1.0f64, 2.0]], [&mut [0.0f64; 2]], sum).is_none());
    }
}
