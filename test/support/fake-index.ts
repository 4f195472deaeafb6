/** An index without files: it looks at every value it covers each time it is asked. */
import type { ScalarKind, ScalarProbe } from '../../src/indexes/scalar/probe.js'
import type { Fragment } from '../../src/manifest/layout.js'
import { RowSet } from '../../src/primitives/row-set.js'
import { fieldOf } from '../../src/sql/batch-columns.js'
import { decoded } from '../../src/sql/kernels/dictionary.js'
import type { Scalar } from '../../src/sql/values/scalar.js'
import { orderOfScalars } from '../../src/sql/values/scalar-order.js'
import { scalarAt } from '../../src/sql/values/vector.js'
import type { IndexReader } from '../../src/table/table-index.js'
import type { TableReader } from '../../src/table/table-reader.js'

/** What a fake index is made of. */
export interface FakeIndexOptions {
  readonly name: string
  readonly kind: ScalarKind
  readonly path: readonly string[]
  /** Whether it covers a row; default all. */
  readonly covers?: (fragment: Fragment, row: number) => boolean
  /** What it says for a right guess; default that. */
  readonly guess?: (rows: number) => number
}

export class FakeIndex implements IndexReader {
  readonly name: string
  readonly kind: ScalarKind
  readonly path: readonly string[]
  readonly definition = {}
  /** What it was asked to find. */
  readonly asked: ScalarProbe[] = []
  readonly #reader: TableReader
  readonly #options: FakeIndexOptions
  readonly #values = new Map<number, Promise<readonly Scalar[]>>()

  constructor(reader: TableReader, options: FakeIndexOptions) {
    this.name = options.name
    this.kind = options.kind
    this.path = options.path
    this.#reader = reader
    this.#options = options
  }

  async estimate(probe: ScalarProbe): Promise<number> {
    let count = 0
    for (const rows of (await this.#rows(probe)).values()) count += rows.count
    return this.#options.guess?.(count) ?? count
  }

  async find(probe: ScalarProbe): Promise<ReadonlyMap<number, RowSet>> {
    this.asked.push(probe)
    return this.#rows(probe)
  }

  seek(): boolean {
    return false
  }

  covered(fragment: Fragment): RowSet {
    const { covers = () => true } = this.#options
    const rows = Array.from({ length: fragment.rows }, (_, row) => row)
    return RowSet.of(fragment.rows, Uint32Array.from(rows.filter(row => covers(fragment, row))))
  }

  async #rows(probe: ScalarProbe): Promise<ReadonlyMap<number, RowSet>> {
    const found = new Map<number, RowSet>()
    const members = new Set(probe.kind === 'members' ? probe.values : [])
    const passes = (value: Scalar) => members.has(value) || (probe.kind !== 'members' && isTrue(probe, value))
    for (const fragment of this.#reader.layout.fragments) {
      const values = await this.#valuesOf(fragment)
      const { covers = () => true } = this.#options
      const rows = values.flatMap((value, row) => (covers(fragment, row) && passes(value) ? [row] : []))
      if (rows.length > 0) found.set(fragment.id, RowSet.of(fragment.rows, Uint32Array.from(rows)))
    }
    return found
  }

  #valuesOf(fragment: Fragment): Promise<readonly Scalar[]> {
    let values = this.#values.get(fragment.id)
    if (values === undefined) {
      values = this.#read(fragment)
      this.#values.set(fragment.id, values)
    }
    return values
  }

  async #read(fragment: Fragment): Promise<readonly Scalar[]> {
    const [first, ...inner] = this.path
    const field = this.#reader.schema.fields.find(({ name }) => name === first)!
    const values: Scalar[] = []
    for (const part of await this.#reader.partsOf(fragment)) {
      let { column } = await this.#reader.column(part, field)
      for (const name of inner) {
        const { type } = column
        column = fieldOf(
          column,
          type.kind === 'struct' ? type.children.findIndex(child => child.name === name) : -1,
        )
      }
      column = decoded(column)
      for (let row = 0; row < part.rows; row++) values.push(scalarAt(column, row))
    }
    return values
  }
}

function isTrue(probe: Exclude<ScalarProbe, { kind: 'members' }>, value: Scalar): boolean {
  if (probe.kind === 'null') return value === null
  if (value === null) return false
  const isSame = (a: Scalar, b: Scalar) => orderOfScalars(a, b) === 0
  switch (probe.kind) {
    case 'range': {
      const { low, high } = probe
      const below = low === null ? 1 : orderOfScalars(value, low.value)
      const above = high === null ? -1 : orderOfScalars(value, high.value)
      return (below > 0 || (below === 0 && low!.inclusive)) && (above < 0 || (above === 0 && high!.inclusive))
    }
    default: {
      const elements = (value as readonly Scalar[]).filter(element => element !== null)
      const has = (wanted: Scalar) => elements.some(element => isSame(element, wanted))
      return probe.kind === 'any' ? probe.values.some(has) : probe.values.every(has)
    }
  }
}
