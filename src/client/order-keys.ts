/** Converts the sort keys of `Search.orderBy` to wire fields. A key is a text such as `year desc`, or an object. */
import { invalidInput, quote } from '../errors.js'
import type { Request } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { array, boolean, options as declare, either, string, withHints } from '../protocol/shape.js'

/** A sort key of `Search.orderBy`. */
export interface Order<N extends string = string> {
  /** Name of a column of the answer or of the table. If no column has this name, the text is an SQL expression. */
  readonly column: N
  /** Whether the order is ascending: smallest value first. Default true. */
  readonly ascending?: boolean | undefined
  /** Whether NULL comes before all values. Default false. */
  readonly nullsFirst?: boolean | undefined
}

export const orderShape = withHints(
  declare<Order>()({ column: string('nonEmpty'), ascending: boolean, nullsFirst: boolean }, { column: true }),
  {
    desc: 'ascending: false',
    descending: 'ascending: false',
    asc: 'ascending',
    direction: 'ascending: false',
    order: 'ascending: false',
    nulls: 'nullsFirst',
  },
)

const orderKeys = array(
  either<string | Order>(
    { is: value => typeof value === 'string', shape: string('nonBlank') },
    { is: value => typeof value === 'object' && value !== null, shape: orderShape },
  ),
)

type WireKey = NonNullable<Request<'queryTable'>['order_by']>[number]

/** Return the wire fields of sort keys. Throws `InvalidInput` for a text that is not a column with a direction. */
export function orderFields(keys: readonly (string | Order)[]): readonly WireKey[] {
  keys.forEach(refuseDirection)
  return parse(orderKeys, keys, 'orderBy').map(key => {
    const { column, ascending, nullsFirst } = typeof key === 'string' ? orderOfText(key) : key
    return {
      column_name: column,
      ...(ascending !== undefined && { ascending }),
      ...(nullsFirst !== undefined && { nulls_first: nullsFirst }),
    }
  })
}

/** Throw `InvalidInput` for a direction by column, such as `{ year: 'desc' }`. */
function refuseDirection(key: unknown): void {
  const [column, direction] = Object.entries(Object(key))[0] ?? []
  if (column === 'column' || (direction !== 'asc' && direction !== 'desc')) return
  throw invalidInput(`orderBy: ${quote(key)} is not a sort key`, {
    hint: `write orderBy('${column} ${direction}')`,
  })
}

/**
 * Pattern of a sort key: a name in double quotes, in backticks, or without blanks. An optional `asc` or `desc` follows,
 * and then an optional `nulls first` or `nulls last`.
 */
const keyText =
  /^\s*(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^\s"`]\S*))(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*$/i

function orderOfText(text: string): Order {
  const found = keyText.exec(text)
  if (found === null) {
    throw invalidInput(`orderBy: ${quote(text)} is not a column name with an optional direction`, {
      hint: `write orderBy('year desc') or orderBy('year desc nulls first'); a name with blanks needs quotes: orderBy('"${text.replaceAll('"', '""')}"')`,
    })
  }
  const [, inQuotes, inBackticks, bare, direction, nulls] = found
  const column = inQuotes?.replaceAll('""', '"') ?? inBackticks?.replaceAll('``', '`') ?? bare!
  return {
    column,
    ...(direction !== undefined && { ascending: direction.toLowerCase() === 'asc' }),
    ...(nulls !== undefined && { nullsFirst: nulls.toLowerCase() === 'first' }),
  }
}
