/** Reads the stored documents of exported indexes of FlexSearch. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Row } from '../../src/client/table-data.js'
import { invalidInput, quote } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as shape, string } from '../../src/protocol/shape.js'
import { LocalFile } from '../../src/storage/local-file.js'

/** The parts that `document.export((key, data) => …)` passes to its callback, by key. */
export type FlexsearchParts = ReadonlyMap<string, string> | Readonly<Record<string, string>>

export interface ReadFlexsearchOptions {
  /** Name of the column with the id of each document. Default `id`. */
  readonly id?: string | undefined
  readonly signal?: AbortSignal | undefined
}

const readFlexsearchShape = shape<ReadFlexsearchOptions>()({ id: string('nonEmpty'), signal: signalShape })

/** The key of a part with documents. Names of files may end in `.json`. */
const documentKey = /^(\d{1,9})\.doc(?:\.json)?$/
/** Maximum bytes of a part, which is parsed as a whole. */
const partBytesMax = 256 * 1024 * 1024

/**
 * Read the documents that a `Document` index of FlexSearch 0.8 stores and exports. `source`: a folder with one file for
 * each exported key, named `key` or `key.json`, or the parts by key. A row has the id of its document, and the stored
 * fields. The index itself is not read: create an index with `createIndex`.
 *
 * ```js
 * await document.export((key, data) => writeFile(`./export/${key}`, data))
 * const docs = await ns.createTable('docs', readFlexsearch('./export'))
 * ```
 * @throws InvalidInput for an export without stored documents, and for broken parts.
 */
export function readFlexsearch(
  source: string | FlexsearchParts,
  options?: ReadFlexsearchOptions,
): AsyncGenerator<Row>
export async function* readFlexsearch(
  source: string | FlexsearchParts,
  options: ReadFlexsearchOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  refuseMore('readFlexsearch', 2, more)
  const { id: idColumn = 'id', signal } = parse(readFlexsearchShape, options, 'readFlexsearch')
  signal?.throwIfAborted()
  const keys = (await keysOf(source)).filter(key => documentKey.test(key)).sort(byNumber)
  if (keys.length === 0) {
    throw invalidInput('the export has no stored documents: it has no part named like "1.doc"', {
      hint: 'only a Document index with the option store exports its documents',
    })
  }
  const repeated = keys.find((key, i) => i > 0 && byNumber(keys[i - 1]!, key) === 0)
  if (repeated !== undefined) throw invalidInput(`the export has the part ${quote(repeated)} twice`)
  for (const key of keys) {
    signal?.throwIfAborted()
    const entries = parsePart(await textOf(source, key), key)
    for (const [i, entry] of entries.entries()) {
      signal?.throwIfAborted()
      yield rowOf(entry, idColumn, `part ${quote(key)}, document ${i}`)
    }
  }
}

function byNumber(a: string, b: string): number {
  return Number.parseInt(a, 10) - Number.parseInt(b, 10)
}

async function keysOf(source: unknown): Promise<string[]> {
  if (source instanceof Map) return [...source.keys()].map(String)
  if (typeof source === 'object' && source !== null && !Array.isArray(source)) return Object.keys(source)
  if (typeof source !== 'string') {
    throw invalidInput(`source must be the path of a folder, or the exported parts, got ${quote(source)}`)
  }
  return readdir(source).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidInput(`cannot read the folder ${quote(source)}: ${reason}`, { cause })
  })
}

async function textOf(source: string | FlexsearchParts, key: string): Promise<unknown> {
  if (typeof source !== 'string') {
    return source instanceof Map ? source.get(key) : (source as Readonly<Record<string, string>>)[key]
  }
  const file = await LocalFile.open(join(source, key))
  try {
    if (file.size > partBytesMax) {
      throw invalidInput(`part ${quote(key)} has ${file.size} bytes, but at most ${partBytesMax} are allowed`)
    }
    return new TextDecoder().decode(await file.read(0, file.size))
  } finally {
    await file.close()
  }
}

function parsePart(text: unknown, key: string): readonly unknown[] {
  if (typeof text !== 'string') throw invalidInput(`part ${quote(key)} must be text, got ${quote(text)}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidInput(`part ${quote(key)} is not valid JSON: ${reason}`, { cause })
  }
  if (!Array.isArray(value)) throw invalidInput(`part ${quote(key)} must be an array, got ${quote(value)}`)
  return value
}

/** Return the row of an entry: the id, and the stored document. */
function rowOf(entry: unknown, idColumn: string, place: string): Row {
  const [id, document] = Array.isArray(entry) ? (entry as unknown[]) : []
  const isId = typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))
  if (!isId || typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw invalidInput(`${place} must be [id, document], got ${quote(entry)}`)
  }
  const stored = Object.hasOwn(document, idColumn) ? (document as Row)[idColumn] : id
  if (stored !== id) {
    throw invalidInput(
      `${place} has the id ${quote(id)}, but its field ${quote(idColumn)} is ${quote(stored)}`,
      {
        hint: "pass id: 'key' to name the column of ids differently",
      },
    )
  }
  return { [idColumn]: id, ...document }
}
