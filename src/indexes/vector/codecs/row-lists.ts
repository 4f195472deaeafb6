/** Provides code that several codecs share. */
import { corrupted } from '../../../errors.js'

/** Base class of codecs whose lists store one row after the other. */
export abstract class RowLists {
  /** Bytes of a row. */
  readonly stride: number

  constructor(stride: number) {
    this.stride = stride
  }

  listBytes(count: number): number {
    return count * this.stride
  }

  copy(from: Uint8Array, fromFirst: number, to: Uint8Array, toFirst: number, count: number): void {
    const { stride } = this
    to.set(from.subarray(fromFirst * stride, (fromFirst + count) * stride), toFirst * stride)
  }
}

/** Throw Internal if `parameters` are not empty. For codecs without parameters. */
export function checkNoParameters(parameters: Uint8Array): void {
  if (parameters.length !== 0)
    throw corrupted(`a codec that takes no parameters has ${parameters.length} bytes of parameters`)
}
