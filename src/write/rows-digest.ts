/**
 * Computes a digest of rows that depends only on their values. It does not depend on batch boundaries, the order of
 * columns, dictionary encoding or the width of offsets. A column of nulls gives the same digest as a missing column.
 */
import { createHash, type Hash } from 'node:crypto'
import { type Batch, type Column, isValid } from '../arrow/column.js'
import { asBytes, cellBytes } from '../arrow/layout.js'
import { sliceColumn } from '../arrow/slice.js'
import { takeColumn } from '../arrow/take.js'
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { decoded } from '../sql/kernels/dictionary.js'

/** Number of bytes that are hashed without a pause. Hashing them takes one or two milliseconds. */
const bytesAtOnce = 1024 * 1024

/** A digest of rows. The caller calls `add` for each batch, then `finish` once. */
export class RowsDigest {
  readonly #columns = new Map<string, ColumnDigest>()
  #rows = 0

  async add({ schema, columns, length }: Batch, pacer: Pacer): Promise<void> {
    for (const [i, { name }] of schema.fields.entries()) {
      let digest = this.#columns.get(name)
      if (digest === undefined) {
        digest = new ColumnDigest()
        this.#columns.set(name, digest)
      }
      await digest.add(columns[i]!, pacer)
    }
    this.#rows += length
  }

  /** Return the digest of all added rows and of the text `about`. */
  finish(about: string): string {
    const columns = [...this.#columns]
      .filter(([, column]) => column.present > 0)
      .map(([name, column]) => [name, column.finish()])
      .sort(([a], [b]) => (a! < b! ? -1 : 1))
    const text = JSON.stringify([about, this.#rows, columns])
    return createHash('sha256').update(text).digest('hex').slice(0, 32)
  }
}

class ColumnDigest {
  /** Number of values that are not null. */
  present = 0
  #rows = 0
  #layout = ''
  /** Hash of the row numbers of null rows. */
  readonly #nulls = createHash('sha256')
  /** Hash of the lengths of texts and lists. */
  readonly #lengths = createHash('sha256')
  readonly #values = createHash('sha256')
  readonly #children: ColumnDigest[] = []

  /** Add the next rows of the column. */
  async add(given: Column, pacer: Pacer): Promise<void> {
    const column = await this.#withoutNulls(decoded(given), pacer)
    const { type, length } = column
    if (length === 0 || type.kind === 'null') return
    this.#layout = layoutName(type)
    const children = childrenOf(column)
    for (const [i, child] of children.entries()) {
      this.#children[i] ??= new ColumnDigest()
      await this.#children[i].add(child, pacer)
    }
    if (column.offsets !== null) await hash(this.#lengths, lengthsOf(column.offsets, length), pacer)
    else if (type.kind === 'fixed_size_list')
      await hash(this.#lengths, new Uint32Array(length).fill(type.size), pacer)
    if (type.kind === 'bool') {
      const values = column.values as Uint8Array
      const bytes = Uint8Array.from({ length }, (_, i) => (values[i >> 3]! >> (i & 7)) & 1)
      await hash(this.#values, bytes, pacer)
    } else if (column.values !== null) {
      const bytes = column.offsets === null ? cellBytes(type) * length : column.offsets[length]!
      await hash(this.#values, asBytes(column.values).subarray(0, bytes), pacer)
    }
  }

  finish(): unknown {
    const digests = [this.#nulls, this.#lengths, this.#values].map(each => each.digest('base64'))
    return [this.#layout, this.present, ...digests, this.#children.map(child => child.finish())]
  }

  async #withoutNulls(column: Column, pacer: Pacer): Promise<Column> {
    const { length, nullCount } = column
    const before = this.#rows
    this.#rows += length
    this.present += length - nullCount
    if (nullCount === 0) return column
    const rows = new Uint32Array(length - nullCount)
    const nulls = new Float64Array(nullCount)
    let [valid, missing] = [0, 0]
    for (let row = 0; row < length; row++) {
      if (column.type.kind !== 'null' && isValid(column, row)) rows[valid++] = row
      else nulls[missing++] = before + row
    }
    await hash(this.#nulls, nulls, pacer)
    return takeColumn(column, rows)
  }
}

/**
 * Return a name of a type for the digest. It does not depend on the width of offsets, or on the nullability of
 * children. Lists and fixed-size lists have the same name.
 */
function layoutName(type: DataType): string {
  switch (type.kind) {
    case 'utf8':
    case 'binary':
    case 'map':
      return type.kind
    case 'list':
    case 'fixed_size_list':
      return 'list'
    case 'struct':
      return JSON.stringify(type.children.map(({ name }) => name))
    default:
      return typeName(type)
  }
}

/** Return the children of a column without nulls, cut to the elements of its rows. */
function childrenOf({ type, offsets, length, children }: Column): readonly Column[] {
  const rows =
    offsets !== null ? offsets[length]! : type.kind === 'fixed_size_list' ? length * type.size : length
  return children.map(child => sliceColumn(child, 0, rows))
}

function lengthsOf(offsets: Int32Array, length: number): Uint32Array {
  const lengths = new Uint32Array(length)
  for (let row = 0; row < length; row++) lengths[row] = offsets[row + 1]! - offsets[row]!
  return lengths
}

async function hash(into: Hash, values: ArrayBufferView, pacer: Pacer): Promise<void> {
  const bytes = asBytes(values)
  for (let from = 0; from < bytes.length; from += bytesAtOnce) {
    into.update(bytes.subarray(from, from + bytesAtOnce))
    await pacer.turn()
  }
}
