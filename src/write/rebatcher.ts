/** Splits and joins incoming batches, so that the resulting batches have limited numbers of rows and bytes. */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { batchBytes, rowBytes } from '../arrow/layout.js'
import { sliceBatch } from '../arrow/slice.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'

/** Incoming batches are joined until they have this number of rows or bytes. */
const smallRows = 1024
const smallBytes = 256 * 1024

/** Maximum bytes of the rows that `take` returns, without dictionaries. A single row may have more bytes. */
interface ByteLimits {
  /** Maximum bytes of each column. */
  readonly column: number
  /** Maximum bytes of all columns together. */
  readonly batch: number
}

/** A reader of batches. It keeps at most one batch more in memory than the caller requested. */
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

  /**
   * Return all rows if they have at most `bytes` bytes. Otherwise returns null; later calls of `take` return the rows.
   */
  async drainUpTo(bytes: number): Promise<Batch[] | null> {
    let size = 0
    while (await this.#pull()) {
      size += batchBytes(this.#waiting.at(-1)!)
      if (size > bytes) return null
    }
    return this.#waiting.splice(0)
  }

  /** Close the source of the batches. Has no effect if the source has ended. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }

  /** Return whether all rows were returned. */
  async ended(): Promise<boolean> {
    return this.#waiting.length === 0 && !(await this.#pull())
  }

  /**
   * Return the next rows: at most `rows` rows, and not more bytes than the limits, but at least one row. Returns an
   * empty array at the end. `rows` must be at least 1.
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

  /**
   * Return how many of the first `most` rows of a batch fit into the limits. `bytes`: for each column, the bytes taken
   * before.
   */
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

  /**
   * Read the next batch. Joins small batches, because later steps have a fixed cost per batch. Returns false at the end
   * of the source.
   */
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
