/** Reads the folders in which the HNSWLib store of LangChain saves its documents. */
import { join } from 'node:path'
import type { Row } from '../../src/client/table-data.js'
import { invalidInput, quote, SheafError } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { integer, oneOf, options as shape } from '../../src/protocol/shape.js'
import { LocalFile } from '../../src/storage/local-file.js'
import { jsonText, parseJson, setOwn } from './json-text.js'
import { hnswlibPieces } from './read-hnswlib.js'
import type { ReadOptions } from './source.js'

export interface ReadHnswlibFolderOptions extends ReadOptions {
  /**
   * `fields` (default): each field of the metadata of a document is a column. `json`: the column `metadata` contains the
   * metadata as JSON text.
   */
  readonly metadata?: 'fields' | 'json' | undefined
}

export const readHnswlibFolderShape = shape<ReadHnswlibFolderOptions>()({
  metadata: oneOf('fields', 'json'),
  signal: signalShape,
})
/** The content of `args.json` that matters. Other fields are ignored. */
const spaceShape = oneOf('l2', 'ip', 'cosine')
const dimShape = integer(1, 65_536)

/** Maximum bytes of a JSON file, which is read as a whole. */
const jsonBytesMax = 256 * 1024 * 1024
/** Names of columns that metadata must not have. */
const taken: ReadonlySet<string> = new Set(['id', 'vector', 'text'])

interface Document {
  readonly text: string
  readonly metadata: Record<string, unknown>
}

/**
 * Read the rows of a folder that the HNSWLib store of LangChain saved: `hnswlib.index`, `docstore.json` and
 * `args.json`. A row has `id` (the label, a bigint), `vector`, `text` (`pageContent` of the document), and its metadata.
 * Elements that are marked as deleted are skipped. The documents are read as a whole, at most 256 MiB.
 *
 * ```js
 * const docs = await ns.createTable('docs', readHnswlibFolder('./store'))
 * ```
 * @throws InvalidInput for a folder without one of the files, a broken file, a vector without its document, and a field
 * of the metadata that is named `id`, `vector` or `text`.
 */
export function readHnswlibFolder(folder: string, options?: ReadHnswlibFolderOptions): AsyncGenerator<Row>
export async function* readHnswlibFolder(
  folder: string,
  options: ReadHnswlibFolderOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<Row> {
  refuseMore('readHnswlibFolder', 2, more)
  const { metadata = 'fields', signal } = parse(readHnswlibFolderShape, options, 'readHnswlibFolder')
  if (typeof folder !== 'string') throw invalidInput(`folder must be a string, got ${quote(folder)}`)
  signal?.throwIfAborted()
  const argsPath = join(folder, 'args.json')
  const args = await readJsonFile(argsPath)
  if (!isObject(args)) throw invalidInput(`${quote(argsPath)} must contain an object, got ${quote(args)}`)
  const space = parse(spaceShape, args.space, `${quote(argsPath)}: space`)
  const dim = parse(dimShape, args.numDimensions, `${quote(argsPath)}: numDimensions`)
  const documentsPath = join(folder, 'docstore.json')
  const documents = documentsOf(await readJsonFile(documentsPath), documentsPath)
  for await (const { labels, vectors } of hnswlibPieces(join(folder, 'hnswlib.index'), {
    space,
    dim,
    signal,
  })) {
    for (const [i, id] of labels.entries()) {
      const document = documents.get(String(id))
      if (document === undefined) throw invalidInput(`${quote(documentsPath)} has no document ${id}`)
      const row: Record<string, unknown> = {
        id,
        vector: vectors.slice(i * dim, (i + 1) * dim),
        text: document.text,
      }
      if (metadata === 'json') row.metadata = jsonText(document.metadata)
      else addFields(row, document.metadata, `${quote(documentsPath)}: document ${id}`)
      yield row
    }
  }
}

function addFields(row: Record<string, unknown>, metadata: Record<string, unknown>, place: string): void {
  for (const [name, value] of Object.entries(metadata)) {
    if (taken.has(name)) {
      throw invalidInput(`${place} has metadata named ${quote(name)}, which is the name of another column`, {
        hint: "pass metadata: 'json' to read the metadata as one column",
      })
    }
    setOwn(row, name, value)
  }
}

/** Return the documents by id. The file has an array of pairs: the id, and the document. */
function documentsOf(value: unknown, path: string): ReadonlyMap<string, Document> {
  if (!Array.isArray(value)) throw invalidInput(`${quote(path)} must contain an array, got ${quote(value)}`)
  const documents = new Map<string, Document>()
  for (const [i, pair] of value.entries()) {
    const [id, document] = Array.isArray(pair) ? (pair as unknown[]) : []
    const { pageContent, metadata = {} } = isObject(document) ? document : {}
    if (typeof id !== 'string' || typeof pageContent !== 'string' || !isObject(metadata)) {
      throw invalidInput(
        `${quote(path)}: item ${i} must be [id, { pageContent, metadata }], got ${quote(pair)}`,
      )
    }
    if (documents.has(id)) throw invalidInput(`${quote(path)} has the document ${quote(id)} twice`)
    documents.set(id, { text: pageContent, metadata })
  }
  return documents
}

async function readJsonFile(path: string): Promise<unknown> {
  const file = await LocalFile.open(path)
  try {
    if (file.size > jsonBytesMax) {
      throw invalidInput(`${quote(path)} has ${file.size} bytes, but at most ${jsonBytesMax} are allowed`)
    }
    const bytes = await file.read(0, file.size)
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    if (cause instanceof SheafError && !cause.message.startsWith('is ')) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidInput(`${quote(path)} ${reason}`, { cause })
  } finally {
    await file.close()
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
