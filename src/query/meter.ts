/**
 * Measures the steps of a query: the rows they returned and their milliseconds, without the steps that feed them. Only an
 * analyzed query has a meter, so that other queries do not pay for it.
 */
import type { Column } from '../arrow/column.js'
import { columnBytes } from '../arrow/layout.js'
import type { Candidates, Ending } from '../indexes/vector/segment.js'
import type { VectorRows } from '../kernels/vector-segment.js'
import type { Clock } from '../primitives/clock.js'
import type { MaybePromise, TaskStream } from '../primitives/task.js'

/** Measurements of one step. */
export interface Figures {
  rows: number
  ms: number
  /** Bytes of columns at their first use in the query, and of vectors each time, from disk or from memory. */
  bytes: number
}

/** Measurements of a vector search. */
interface NearFigures {
  /** Searched partitions of indexes, and rows in them whose distance was estimated or measured. */
  partitions: number
  guessed: number
  /** Rows that indexes proposed, whose distance was measured exactly in the column. */
  candidates: number
  /** Rows whose distance was measured exactly without an index. */
  exact: number
  /** How searches in index segments ended. */
  readonly endings: Set<Ending>
}

/** Collects the measurements of one query. */
export class Meter {
  readonly #clock: Clock
  readonly #figures = new Map<string, Figures>()
  /** Stack of the running steps: each one feeds the one before it. */
  readonly #working: Figures[] = []
  /** Columns that were counted. */
  readonly #columns = new WeakSet<Column>()
  #since: number
  /** Number of fragments and parts that were read. */
  fragments = 0
  parts = 0
  /** Rows that the filter did not evaluate, because stored statistics of their stretches decide. */
  decided = 0
  /** Measurements of the vector search. */
  readonly near: NearFigures = { partitions: 0, guessed: 0, candidates: 0, exact: 0, endings: new Set() }

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.elapsed()
  }

  /** Return the measurements of a step; undefined if the step did not run. */
  of(step: string): Figures | undefined {
    return this.#figures.get(step)
  }

  #begun(step: string): Figures {
    let figures = this.#figures.get(step)
    if (figures === undefined) {
      figures = { rows: 0, ms: 0, bytes: 0 }
      this.#figures.set(step, figures)
    }
    return figures
  }

  /** Count the bytes of a column at its first use. */
  looked(column: Column): void {
    const figures = this.#working.at(-1)
    if (figures === undefined || this.#columns.has(column)) return
    this.#columns.add(column)
    figures.bytes += columnBytes(column)
  }

  /** Count exact distances in the column: of proposed rows, or of all allowed rows. */
  measured(rows: number, { dim, kind }: Pick<VectorRows, 'dim' | 'kind'>, proposed = false): void {
    this.near[proposed ? 'candidates' : 'exact'] += rows
    this.#read(rows * dim * (kind === 'u8' ? 1 : 4))
  }

  /** Count a search in an index segment, which reads `rowBytes` per estimated distance. */
  probed({ partitions, measured }: Candidates, rowBytes: number): void {
    this.near.partitions += partitions
    this.near.guessed += measured
    this.#read(measured * rowBytes)
  }

  /** Record how a search in an index segment ended. */
  ended(ending: Ending): void {
    this.near.endings.add(ending)
  }

  #read(bytes: number): void {
    const figures = this.#working.at(-1)
    if (figures !== undefined) figures.bytes += bytes
  }

  /** Measure a step that returns one result. */
  async within<T>(step: string, work: () => MaybePromise<T>, rowsIn: (result: T) => number): Promise<T> {
    this.#turn()
    const figures = this.#begun(step)
    this.#working.push(figures)
    try {
      const result = await work()
      figures.rows += rowsIn(result)
      return result
    } finally {
      this.#turn()
      this.#working.pop()
    }
  }

  /** Measure a step that streams items. Waiting counts as time of the step and of the steps that it feeds. */
  *each<T extends object>(step: string, items: TaskStream<T>, rowsIn: (item: T) => number): TaskStream<T> {
    let isAtWork = false
    const begin = () => {
      this.#turn()
      const figures = this.#begun(step)
      this.#working.push(figures)
      isAtWork = true
      return figures
    }
    const end = () => {
      this.#turn()
      this.#working.pop()
      isAtWork = false
    }
    try {
      let figures = begin()
      for (const item of items) {
        if (item instanceof Promise) {
          yield item
          continue
        }
        figures.rows += rowsIn(item)
        end()
        yield item
        figures = begin()
      }
    } finally {
      if (isAtWork) end()
    }
  }

  /** Add the time since the last call to the running step. */
  #turn(): void {
    const now = this.#clock.elapsed()
    const figures = this.#working.at(-1)
    if (figures !== undefined) figures.ms += now - this.#since
    this.#since = now
  }
}
