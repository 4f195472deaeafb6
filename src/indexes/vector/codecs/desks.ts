/** Vectors that are coded at once: few enough for the cache, many enough for a call. */
export const codedRows = 64

/**
 * Memory of a codec's own, with what its kernels need to code vectors and to make queries ready. It is laid when it is first needed: with the SIMD
 * kernel, or without for lists that are in an arena without.
 */
export class Desks<Desk> {
  readonly #lay: (plain: boolean) => Desk
  readonly #laid = new Map<boolean, Desk>()

  constructor(lay: (plain: boolean) => Desk) {
    this.#lay = lay
  }

  get(plain: boolean): Desk {
    let desk = this.#laid.get(plain)
    if (desk === undefined) {
      desk = this.#lay(plain)
      this.#laid.set(plain, desk)
    }
    return desk
  }
}
