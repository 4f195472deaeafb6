/** The JSON that lies beside Arrow's golden files ("Integration Testing", JSON test data format), as values. */
import { formatDecimal } from '../../src/arrow/decimal.js'
import { fromFloat16 } from '../../src/arrow/float16.js'
import { toDate } from '../../src/arrow/instant.js'
import { childFields, type DataType, type Field } from '../../src/arrow/types.js'

export interface JsonField {
  readonly name: string
  readonly nullable: boolean
  readonly type: { readonly name: string }
  readonly children: readonly JsonField[]
  readonly dictionary?: { readonly id: number }
  readonly metadata?: readonly { readonly key: string; readonly value: string }[]
}

interface JsonColumn {
  readonly name: string
  readonly count: number
  readonly VALIDITY?: readonly number[]
  readonly DATA?: readonly unknown[]
  readonly OFFSET?: readonly (number | string)[]
  readonly children?: readonly JsonColumn[]
}

export interface IntegrationJson {
  readonly schema: { readonly fields: readonly JsonField[]; readonly metadata?: JsonField['metadata'] }
  readonly batches: readonly { readonly count: number; readonly columns: readonly JsonColumn[] }[]
  readonly dictionaries?: readonly {
    readonly id: number
    readonly data: { readonly columns: readonly JsonColumn[] }
  }[]
}

/** Every batch's columns as `columnValues(column, { int64: 'bigint' })` gives them. */
export function expectedContents(json: IntegrationJson, fields: readonly Field[]): unknown[][][] {
  return json.batches.map(batch =>
    batch.columns.map((column, i) => columnOf(column, fields[i]!.type, json.schema.fields[i]!, json)),
  )
}

function columnOf(column: JsonColumn, type: DataType, field: JsonField, json: IntegrationJson): unknown[] {
  const { count, DATA: data = [], OFFSET: offsets = [], children = [] } = column
  const present = (i: number): boolean => (column.VALIDITY?.[i] ?? 1) === 1
  const rows = (value: (i: number) => unknown): unknown[] =>
    Array.from({ length: count }, (_, i) => (present(i) ? value(i) : null))
  if (type.kind === 'dictionary') {
    const dictionary = json.dictionaries!.find(entry => entry.id === field.dictionary!.id)!
    const values = columnOf(
      dictionary.data.columns[0]!,
      type.value,
      { ...field, dictionary: undefined! },
      json,
    )
    return rows(i => values[Number(data[i])])
  }
  const below = childFields(type).map((child, i) =>
    columnOf(children[i]!, child.type, field.children[i]!, json),
  )
  switch (type.kind) {
    case 'null':
      return Array.from({ length: count }, () => null)
    case 'bool':
      return rows(i => Boolean(data[i]))
    case 'int':
      return rows(i => (type.bits === 64 ? BigInt(data[i] as string) : data[i]))
    case 'float':
      if (type.bits === 16) return rows(i => fromFloat16(data[i] as number))
      return rows(i => (type.bits === 32 ? Math.fround(data[i] as number) : data[i]))
    case 'utf8':
      return rows(i => data[i])
    case 'binary':
    case 'fixed_size_binary':
      return rows(i => new Uint8Array(Buffer.from(data[i] as string, 'hex')))
    case 'decimal':
      return rows(i => formatDecimal(BigInt(data[i] as string), type.scale))
    case 'date':
      return rows(i => {
        const count = BigInt(data[i] as string)
        return toDate(type.unit === 'day' ? count * 86_400_000n : count, 'ms') ?? count
      })
    case 'time':
      return rows(i => (type.unit === 's' || type.unit === 'ms' ? data[i] : BigInt(data[i] as string)))
    case 'timestamp':
      return rows(i => toDate(BigInt(data[i] as string), type.unit) ?? BigInt(data[i] as string))
    case 'duration':
      return rows(i => BigInt(data[i] as string))
    case 'interval':
      return rows(i => data[i])
    case 'list':
    case 'map':
      return rows(i => {
        const list = below[0]!.slice(Number(offsets[i]), Number(offsets[i + 1]))
        if (type.kind === 'list') return list
        return list.map(entry => Object.values(entry as object))
      })
    case 'fixed_size_list':
      return rows(i => {
        const list = below[0]!.slice(type.size * i, type.size * (i + 1))
        const numbers = type.child.type.kind === 'int' && type.child.type.bits === 32
        return numbers && !list.includes(null) ? Int32Array.from(list as number[]) : list
      })
    case 'struct':
      return rows(i => Object.fromEntries(type.children.map((child, c) => [child.name, below[c]![i]])))
  }
}
