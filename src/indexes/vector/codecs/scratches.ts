/** Vectors that are coded at once: few enough for the cache, many enough for a call. */
export const codedRows = 64

/**
 * Memory of a codec's own, with what its kernels need to code vectors and to make queries ready. It is laid when it is first needed: with the SIMD
 * kernel, or without for lists that are in an arena without.
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
