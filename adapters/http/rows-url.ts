/** Parses the query parameters of `GET /v1/table/{id}/rows`, a query for programs that can only send a URL. */
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import { refuseName } from '../../src/protocol/parse.js'
import type { RowForm } from './accept.js'

/** The parameters with their descriptions in `/openapi.json`. */
export const rowsParameters = {
  columns:
    'Names of the columns, separated by commas, or SQL names in backticks. May be given several times. Default: all columns.',
  filter: 'SQL predicate.',
  order: 'Columns to order by, separated by commas. `-` before a name: largest first. Default: row order.',
  limit: 'Maximum number of rows. Default: all rows.',
  offset: 'Rows to skip. Default 0.',
  version: 'Version to read. Default: the latest.',
  format:
    'Form of the rows: `json`, `ndjson`, `csv`, `arrow` (a file) or `stream` (an Arrow IPC stream). Default: what `Accept` prefers, or json.',
} as const

type Parameter = keyof typeof rowsParameters

const known = [...(Object.keys(rowsParameters) as Parameter[]), 'delimiter']

/** The values of the parameter `format`, and the forms that they select. */
export const formats: Readonly<Record<string, RowForm>> = {
  json: 'json',
  ndjson: 'ndjson',
  csv: 'csv',
  arrow: 'file',
  stream: 'stream',
}

interface RowsUrl {
  /** The request of the operation `queryTable`. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly form: RowForm | undefined
  /** The parameters that belong to the path: the delimiter. */
  readonly query: URLSearchParams
}

/**
 * Parse the parameters. Throws InvalidInput for an unknown, repeated or invalid parameter. The message contains the
 * name of the parameter.
 */
export function readRowsUrl(given: URLSearchParams): RowsUrl {
  for (const name of given.keys()) if (!known.includes(name)) refuseName(name, known, 'the query of the URL')
  const columns = namesIn(given, 'columns')
  const order = namesIn(given, 'order')?.map(text => {
    const isDescending = text.startsWith('-')
    const column_name = isDescending ? text.slice(1).trim() : text
    if (column_name === '') throw invalid('order', 'have a column name after "-"', text)
    return { column_name, ascending: !isDescending }
  })
  const filter = oneOf(given, 'filter')
  if (filter?.trim() === '') throw invalid('filter', 'be an SQL predicate', filter)
  const delimiter = given.get('delimiter')
  return {
    fields: {
      vector: null,
      k: numberIn(given, 'limit') ?? Number.MAX_SAFE_INTEGER,
      ...(columns && { columns: { column_names: distinct('columns', columns) } }),
      ...(filter !== undefined && { filter }),
      ...(order && { order_by: order }),
      offset: numberIn(given, 'offset'),
      version: numberIn(given, 'version'),
    },
    form: formIn(given),
    query: new URLSearchParams(delimiter === null ? {} : { delimiter }),
  }
}

function formIn(given: URLSearchParams): RowForm | undefined {
  const text = oneOf(given, 'format')
  if (text === undefined) return undefined
  if (!Object.hasOwn(formats, text)) throw invalid('format', `be ${Object.keys(formats).join(', ')}`, text)
  return formats[text]
}

function oneOf(given: URLSearchParams, name: Parameter): string | undefined {
  const texts = given.getAll(name)
  if (texts.length > 1) throw invalidInput(`${name} is given ${texts.length} times in the query of the URL`)
  return texts[0]
}

function numberIn(given: URLSearchParams, name: Parameter): number | undefined {
  const text = oneOf(given, name)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw invalid(name, 'be an integer from 0 to 999999999999999', text)
  return Number(text)
}

/** Return the names in a list of columns, or undefined if the parameter is not given. */
function namesIn(given: URLSearchParams, name: Parameter): readonly string[] | undefined {
  const texts = given.getAll(name)
  if (texts.length === 0) return undefined
  const names = texts.flatMap(splitNames)
  if (names.includes('')) throw invalid(name, 'be names separated by commas', texts.join(','))
  return names
}

/** Split a list of names at commas outside of backticks. */
function splitNames(text: string): string[] {
  const names: string[] = []
  let from = 0
  let isQuoted = false
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '`') isQuoted = !isQuoted
    if (at < text.length && (isQuoted || text[at] !== ',')) continue
    names.push(text.slice(from, at).trim())
    from = at + 1
  }
  return names
}

function distinct(parameter: Parameter, names: readonly string[]): readonly string[] {
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalidInput(`${parameter} has the name ${quote(twice)} twice`)
  return names
}

function invalid(name: Parameter, what: string, text: string): SheafError {
  return invalidInput(`${name} must ${what}, got ${quote(text)}`)
}
