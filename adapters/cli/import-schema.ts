/** Finds the columns of the table that an import creates. */
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { typeFromText } from '../../src/arrow/type-text.js'
import type { Field, Schema } from '../../src/arrow/types.js'
import { tableRows, untypedColumns } from '../../src/client/table-rows.js'
import { withTypes } from '../../src/client/typed-source.js'
import { columnNotFound, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { Row } from '../../src/index.js'
import { placeIn } from './import-rows.js'
import { Misuse } from './misuse.js'
import type { SourcePiece } from './source-formats.js'
import type { SourceFile } from './sources.js'

type ColumnTypes = Readonly<Record<string, string>>

/** Return the columns whose types options give. Throws `InvalidInput` for a text that is not a type. */
export function givenFields(types: ColumnTypes = {}, vectors: ColumnTypes = {}): readonly Field[] {
  const both = Object.keys(types).find(name => Object.hasOwn(vectors, name))
  if (both !== undefined) throw new Misuse(`--types and --vector both name the column ${both}`)
  return Object.entries({ ...types, ...vectors }).map(([name, text]) => ({
    name,
    ...typeFromText(text, `--types: column ${quote(name)}`),
  }))
}

/**
 * Return the schema of a new table: the columns of the first source that has rows, as `createTable` infers them, with
 * the given types. `read`: reads a source. Throws `InvalidInput` if no source has rows, and no types are given.
 */
export async function schemaOfSources(
  sources: readonly SourceFile[],
  read: (source: SourceFile) => Promise<AsyncIterable<SourcePiece>>,
  given: readonly Field[],
): Promise<Schema> {
  for (const source of sources) {
    const found = await schemaOf(source, await read(source), given)
    if ('fields' in found) return found
    const untyped = found.columns.filter(name => given.every(field => field.name !== name))
    if (given.length > 0 && untyped.length > 0)
      throw untypedColumns(quote(source.path), untyped, 'give their types in --types name:type,...')
  }
  if (given.length > 0) return { fields: given }
  const which = sources.length === 1 ? `${quote(sources[0]!.path)} has no rows` : 'no source has rows'
  throw invalidInput(`${which}, so the types of the columns are unknown`, {
    hint: 'pass --types name:type,... to create an empty table',
  })
}

/** Return the schema of a source, or the known names of the columns if it has no rows. */
async function schemaOf(
  source: SourceFile,
  pieces: AsyncIterable<SourcePiece>,
  given: readonly Field[],
): Promise<Schema | { readonly columns: readonly string[] }> {
  const iterator = pieces[Symbol.asyncIterator]()
  const names = new Set<string>()
  const lines: number[] = []
  async function* chunks(first: SourcePiece): AsyncGenerator<readonly Row[]> {
    let piece: SourcePiece | undefined = first
    while (piece !== undefined) {
      const { rows, lines: own } = piece as Extract<SourcePiece, { lines: unknown }>
      for (const line of own) lines.push(line)
      for (const row of rows) for (const name of Object.keys(row)) names.add(name)
      if (rows.length > 0) yield rows
      const next: IteratorResult<SourcePiece> = await iterator.next()
      piece = next.done === true ? undefined : next.value
    }
  }
  try {
    let first = await iterator.next()
    let columns: readonly string[] = []
    while (first.done !== true && 'lines' in first.value && first.value.rows.length === 0) {
      columns = first.value.columns ?? columns
      first = await iterator.next()
    }
    if (first.done === true) return { columns }
    if (!('lines' in first.value)) return retyped(fromForeignArrow(first.value)!.schema, given)
    const types = { given: () => ({ schema: { fields: given }, isComplete: false }), readAs: () => {} }
    const rows = await tableRows(withTypes(chunks(first.value), types)).catch(error => {
      throw error instanceof SheafError ? inSource(error, source, lines) : error
    })
    await rows.close()
    checkNamed(given, names)
    return rows.schema
  } finally {
    await iterator.return?.()
  }
}

/** Return an error of the inference with the place of its row. `lines`: the lines of the rows. */
function inSource(
  { code, message, cause }: SheafError,
  source: SourceFile,
  lines: readonly number[],
): SheafError {
  const [, row, rest] = /^row (\d+):? (.*)$/s.exec(message) ?? []
  const line = row === undefined ? undefined : lines[Number(row)]
  const what = line === undefined ? `${quote(source.path)}: ${message}` : `${placeIn(source, line)}: ${rest}`
  return new SheafError(code, what, { hint: 'give the type of the column in --types name:type', cause })
}

function retyped(schema: Schema, given: readonly Field[]): Schema {
  checkNamed(given, new Set(schema.fields.map(({ name }) => name)))
  const types = new Map(given.map(field => [field.name, field]))
  return { ...schema, fields: schema.fields.map(field => types.get(field.name) ?? field) }
}

function checkNamed(given: readonly Field[], names: ReadonlySet<string>): void {
  const unknown = given.find(({ name }) => !names.has(name))
  if (unknown !== undefined) throw columnNotFound(unknown.name, [...names])
}
