/**
 * Number of vectors that one kernel call encodes. They fit into the CPU cache, and are enough to make up for the cost
 * of the call.
 */
export const codedRows = 64

/**
 * The scratch memory of a codec, in which its kernels encode vectors and prepare queries. There are two scratch
 * memories: one with the SIMD kernel, and one without it (`plain`) for lists in an arena without the kernel. Each is
 * allocated at its first use.
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
