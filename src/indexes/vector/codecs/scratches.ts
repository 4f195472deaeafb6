/** Vectors encoded per kernel call: few enough for the CPU cache, many enough to amortize the call. */
export const codedRows = 64

/**
 * Scratch memory of a codec, in which its kernels encode vectors and prepare queries. Allocated at the first use: with the SIMD kernel,
 * or without the kernel (`plain`) for lists in an arena without it.
 */
export class Scratches<Scratch> {
  readonly #lay: (plain: boolean) => Scratch
  readonly #laid = new Map<boolean, Scratch>()

  constructor(lay: (plain: boolean) => Scratch) {
    this.#lay = lay
  }

  get(plain: boolean): Scratch {
    let scratch = this.#laid.get(plain)
    if (scratch === undefined) {
      scratch = this.#lay(plain)
      this.#laid.set(plain, scratch)
    }
    return scratch
  }
}
