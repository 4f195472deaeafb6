/** Splits and joins incoming batches into batches that are bounded in rows and bytes. */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { batchBytes, rowBytes } from '../arrow/layout.js'
import { sliceBatch } from '../arrow/slice.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'

/** Incoming batches with fewer rows and fewer bytes are joined. */
const smallRows = 1024
const smallBytes = 256 * 1024

/** Maximum bytes of a result of `take`, without dictionaries. A single row may exceed them. */
interface ByteLimits {
  /** Of each column. */
  readonly column: number
  /** Of all columns together. */
  readonly batch: number
}

/** Buffers at most one batch more than requested. */
export class Rebatcher {
  readonly #source: AsyncIterator<Batch> | Iterator<Batch>
  readonly #pacer: Pacer
  readonly #limits: ByteLimits
  #waiting: Batch[] = []

  constructor(batches: AsyncIterable<Batch> | Iterable<Batch>, pacer: Pacer, limits: ByteLimits) {
    this.#source =
      Symbol.asyncIterator in batches ? batches[Symbol.asyncIterator]() : batches[Symbol.iterator]()
    this.#pacer = pacer
    this.#limits = limits
  }

  /** Return all rows if they have at most `bytes` bytes; else null, without losing rows. */
  async drainUpTo(bytes: number): Promise<Batch[] | null> {
    let size = 0
    while (await this.#pull()) {
      size += batchBytes(this.#waiting.at(-1)!)
      if (size > bytes) return null
    }
    return this.#waiting.splice(0)
  }

  /** Close the source. No effect after its end. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }

  async ended(): Promise<boolean> {
    return this.#waiting.length === 0 && !(await this.#pull())
  }

  /**
   * Return the next rows: at most `rows` (at least 1) and within the byte limits, or a single row. Empty at the end.
   */
  async take(rows: number): Promise<Batch[]> {
    const taken: Batch[] = []
    const bytes: number[] = []
    let count = 0
    while (count < rows && !(await this.ended())) {
      const next = this.#waiting[0]!
      const most = Math.min(next.length, rows - count)
      const fits = Math.max(this.#fitting(next, most, bytes), count === 0 ? 1 : 0)
      if (fits === 0) break
      this.#waiting.shift()
      if (fits < next.length) this.#waiting.unshift(sliceBatch(next, fits, next.length - fits))
      const some = sliceBatch(next, 0, fits)
      for (const [i, column] of some.columns.entries()) bytes[i] = (bytes[i] ?? 0) + rowBytes(column, fits)
      taken.push(some)
      count += fits
      if (fits < most) break
    }
    return taken
  }

  /** How many of the first `most` rows of a batch fit, given the bytes already taken of each column. */
  #fitting({ columns }: Batch, most: number, bytes: readonly number[]): number {
    const { column: columnLimit, batch: batchLimit } = this.#limits
    const isTooMuch = (rows: number) => {
      let all = 0
      for (const [i, column] of columns.entries()) {
        const own = (bytes[i] ?? 0) + rowBytes(column, rows)
        if (own > columnLimit) return true
        all += own
      }
      return all > batchLimit
    }
    if (!isTooMuch(most)) return most
    return partitionPoint(most, i => !isTooMuch(i + 1))
  }

  /** Fetch the next batch, or join several small ones, because later steps have a cost per piece. False at the end. */
  async #pull(): Promise<boolean> {
    const pieces: Batch[] = []
    let rows = 0
    let bytes = 0
    while (rows < smallRows && bytes < smallBytes) {
      await this.#pacer.turn()
      const next = await this.#source.next()
      if (next.done) break
      if (next.value.length === 0) continue
      pieces.push(next.value)
      rows += next.value.length
      bytes += batchBytes(next.value)
    }
    if (pieces.length === 0) return false
    this.#waiting.push(concatBatches(pieces))
    return true
  }
}
