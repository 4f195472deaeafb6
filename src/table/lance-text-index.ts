/**
 * Text indexes of LanceDB on a version of a Lance table. Searches read every row, with the options of the index: its
 * tokenizer, stems and stop words decide which rows match.
 */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { textDefinition } from '../indexes/text/definition.js'
import type { TextOptions } from '../indexes/text/options.js'
import type { LanceIndex } from '../lance/manifest.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import type { Layout } from '../manifest/layout.js'
import { type CreateIndexRequest, createIndexRequest } from '../protocol/index-shapes.js'
import { openLance } from './lance-columns.js'
import type { TableSource } from './table-source.js'
import { holdsText } from './text-column.js'

/** Reads the metadata of a file of an index. Null: the file does not exist. */
export type ReadMetadata = (file: string) => Promise<Readonly<Record<string, string>> | null>

/** A text index of LanceDB. */
interface LanceTextIndex {
  readonly name: string
  /** Path of the column: one name, or several names if it is inside structs. */
  readonly path: readonly string[]
  readonly options: TextOptions
}

/** The indexes of each manifest. */
const indexesOf = new WeakMap<Layout, Promise<readonly LanceTextIndex[]>>()

/**
 * Return the text indexes of a version in the folder `location`. Throws `Unsupported` if the options of an index cannot be
 * read, or are none of Sheaf: a search with other options would find other rows.
 */
export function lanceTextIndexes(
  source: TableSource,
  location: string,
  layout: Layout,
): Promise<readonly LanceTextIndex[]> {
  let indexes = indexesOf.get(layout)
  if (indexes === undefined) {
    indexes = openIndexes(source, location, layout)
    indexesOf.set(layout, indexes)
    indexes.catch(() => indexesOf.delete(layout))
  }
  return indexes
}

async function openIndexes(
  source: TableSource,
  location: string,
  { lanceIndexes = [], schema }: Layout,
): Promise<readonly LanceTextIndex[]> {
  const found = new Map<string, LanceTextIndex>()
  for (const index of lanceIndexes) {
    const { name, uuid, fields } = index
    // Older manifests do not name the type of an index.
    if (found.has(name) || !(index.type === '' || index.type.endsWith('.InvertedIndexDetails'))) continue
    const chain = fields.length === 1 ? findFieldById(schema, fields[0]!) : null
    if (chain === null || !holdsText(typeOf(chain.at(-1)!))) continue
    const read: ReadMetadata = async file => {
      const path = `${location}/_indices/${uuid}/${file}`
      const info = await source.store.stat(path)
      return info === null ? null : (await openLance(source, path, info.size)).schema.metadata
    }
    const options = await optionsOf(index, read)
    if (options !== null) found.set(name, { name, path: chain.map(node => node.name), options })
  }
  return [...found.values()]
}

/** Return null if the index is not a text index. */
async function optionsOf({ name, type }: LanceIndex, read: ReadMetadata): Promise<TextOptions | null> {
  try {
    const parameters = await textParameters(read)
    if (parameters === null && type === '') return null
    if (parameters === null) throw unsupported('its files have no parameters')
    return textDefinition(parameters)
  } catch (error) {
    if (!(error instanceof SheafError) || !lasting.has(error.code)) throw error
    throw unsupported(
      `the options of the text index ${quote(name)} of LanceDB cannot be used: ${error.message}`,
      {
        hint: 'import the table into a root, and create a text index there',
        cause: error,
      },
    )
  }
}

/** Codes of errors that say that an index cannot be used. Other errors may end, as those of a busy store. */
const lasting: ReadonlySet<ErrorCode> = new Set([ErrorCode.InvalidInput, ErrorCode.Unsupported])

/** The parameters of text indexes whose names in requests differ. */
const requestNames: Readonly<Record<string, string>> = {
  min_ngram_length: 'ngram_min_length',
  max_ngram_length: 'ngram_max_length',
}

/**
 * Return the parameters of a text index of LanceDB, in the form of a request for an index. Null: its files have none.
 * Throws `InvalidInput` for metadata that is damaged, and `Unsupported` for a parameter that Sheaf does not have.
 */
export async function textParameters(read: ReadMetadata): Promise<CreateIndexRequest | null> {
  const text = (await read('metadata.lance'))?.params ?? (await read('tokens.lance'))?.tokenizer
  if (text === undefined) return null
  const named: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(jsonObject(text, 'params'))) {
    const name = requestNames[key] ?? key
    if (value === null) continue
    if (Object.hasOwn(createIndexRequest.fields, name)) named[name] = value
    else if (value !== false)
      throw unsupported(`text indexes of Sheaf have no ${key}, which is ${quote(value)}`)
  }
  return named as unknown as CreateIndexRequest
}

/** Return the JSON object in metadata. Throws `InvalidInput` for other values. */
export function jsonObject(text: string, key: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {}
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  throw invalidInput(`the metadata ${key} of its file is no JSON object: ${quote(text)}`)
}
