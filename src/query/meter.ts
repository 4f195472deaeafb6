/**
 * Measures the steps of a query: the number of rows that a step returned, and its milliseconds without the time of its
 * input steps. Only a query that is run by `analyzePlan` has a meter, so that other queries are not slower.
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
  /**
   * Bytes that the step read, from disk or from memory. A column counts at its first use in the query, a vector each
   * time that its distance is measured or estimated.
   */
  bytes: number
}

/** Measurements of a vector search. */
interface NearFigures {
  /** Number of searched partitions of indexes. */
  partitions: number
  /** Number of rows whose distance was estimated or measured in an index. */
  guessed: number
  /** Number of rows that indexes returned, and whose exact distance was then measured. */
  candidates: number
  /** Number of rows whose exact distance was measured without an index. */
  exact: number
  /** The ways in which searches in index segments ended. */
  readonly endings: Set<Ending>
}

/** Collects the measurements of one query. */
export class Meter {
  readonly #clock: Clock
  readonly #figures = new Map<string, Figures>()
  /** Stack of the running steps: each step is an input of the step below it on the stack. */
  readonly #working: Figures[] = []
  /** Columns whose bytes were counted. */
  readonly #columns = new WeakSet<Column>()
  #since: number
  /** Number of fragments that were read. */
  fragments = 0
  /** Number of parts that were read. */
  parts = 0
  /**
   * Number of rows on which the filter was not evaluated, because the stored statistics of their stretches decide it.
   */
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

  /** Count measured exact distances. `proposed`: whether an index returned the rows. Default: false. */
  measured(rows: number, { dim, kind }: Pick<VectorRows, 'dim' | 'kind'>, proposed = false): void {
    this.near[proposed ? 'candidates' : 'exact'] += rows
    this.#read(rows * dim * (kind === 'u8' ? 1 : 4))
  }

  /** Count a search in an index segment. `rowBytes`: bytes that the segment reads for each estimated distance. */
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

  /** Run and measure a step that returns one result. `rowsIn`: returns the number of rows of the result. */
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

  /**
   * Measure a step that streams items. `rowsIn`: returns the number of rows of an item. The time for which the step
   * waits counts for this step.
   */
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
