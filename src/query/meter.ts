/**
 * What the steps of a query did: rows they gave and milliseconds they took, those of the steps they are fed by left out. Only
 * who analyzes a query has one, so nobody else pays for counting.
 */
import type { Column } from '../arrow/column.js'
import { columnBytes } from '../arrow/layout.js'
import type { Candidates, Ending } from '../indexes/vector/segment.js'
import type { VectorRows } from '../kernels/vector-segment.js'
import type { Clock } from '../primitives/clock.js'
import type { MaybePromise, TaskStream } from '../primitives/task.js'

export interface Figures {
  rows: number
  ms: number
  /** Of columns of parts that it was the first to look at, and of vectors each time, be they from the disk or in memory. */
  bytes: number
}

/** Of a search by vector. */
export interface NearFigures {
  /** Partitions of indexes that were looked at, and rows in them whose distance was guessed or measured there. */
  partitions: number
  guessed: number
  /** Rows that indexes proposed, whose distance was measured in the column. */
  candidates: number
  /** Rows whose distance was measured because no index was asked for them. */
  exact: number
  /** How searches in segments of indexes ended. */
  readonly endings: Set<Ending>
}

/** The steps of a query that are counted, beside the questions to indexes, which go by their text. */
export type Step =
  | 'scan'
  | 'filter'
  | 'nearest'
  | 'match'
  | 'thin'
  | 'aggregate'
  | 'sort'
  | 'distinct'
  | 'limit'
  | 'project'

export class Meter {
  readonly #clock: Clock
  readonly #figures = new Map<string, Figures>()
  /** The steps at work, each for the one before it. */
  readonly #working: Figures[] = []
  /** Columns that were looked at. */
  readonly #columns = new WeakSet<Column>()
  #since: number
  /** Fragments and parts of them that were looked into. */
  fragments = 0
  parts = 0
  /** Rows that the filter need not look at, as files say of the stretches they lie in. */
  decided = 0
  /** What was looked at to find the nearest rows. */
  readonly near: NearFigures = { partitions: 0, guessed: 0, candidates: 0, exact: 0, endings: new Set() }

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.elapsed()
  }

  /** What a step did; undefined where there was nothing to do. */
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

  /** A column was looked at. */
  looked(column: Column): void {
    const figures = this.#working.at(-1)
    if (figures === undefined || this.#columns.has(column)) return
    this.#columns.add(column)
    figures.bytes += columnBytes(column)
  }

  /** Rows were measured in the column: proposed ones, or all that were allowed. */
  measured(rows: number, { dim, kind }: Pick<VectorRows, 'dim' | 'kind'>, proposed = false): void {
    this.near[proposed ? 'candidates' : 'exact'] += rows
    this.#read(rows * dim * (kind === 'u8' ? 1 : 4))
  }

  /** A segment of an index was asked, which reads so many bytes to guess the distance of a row. */
  probed({ partitions, measured }: Candidates, rowBytes: number): void {
    this.near.partitions += partitions
    this.near.guessed += measured
    this.#read(measured * rowBytes)
  }

  /** A search in a segment of an index gave rows, and ended so. */
  ended(ending: Ending): void {
    this.near.endings.add(ending)
  }

  #read(bytes: number): void {
    const figures = this.#working.at(-1)
    if (figures !== undefined) figures.bytes += bytes
  }

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

  /** While a step waits it is at work, and so are those it feeds. */
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

  /** Gives what has passed to the step that is at work. */
  #turn(): void {
    const now = this.#clock.elapsed()
    const figures = this.#working.at(-1)
    if (figures !== undefined) figures.ms += now - this.#since
    this.#since = now
  }
}
