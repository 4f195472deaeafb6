/** The formats of files that `import` reads. To add a format, add its name to `format-names.ts`, and an entry to `sourceFormats`. */
import { isUtf8 } from 'node:buffer'
import type { Schema } from '../../src/arrow/types.js'
import { invalidInput, quote, SheafError } from '../../src/errors.js'
import type { ArrowBatch, Row } from '../../src/index.js'
import { LocalFile } from '../../src/storage/local-file.js'
import type { NumberedRows, OnBadRow } from '../files/numbered-rows.js'
import { readArrow } from '../files/read-arrow.js'
import { csvPieces } from '../files/read-csv.js'
import { isHnswlibHead, readHnswlib } from '../files/read-hnswlib.js'
import { readHnswlibFolder } from '../files/read-hnswlib-folder.js'
import { jsonLinePieces } from '../files/read-json-lines.js'
import { readParquet } from '../files/read-parquet.js'
import { selectAllFrom, sqliteBatches, sqliteTables } from '../files/read-sqlite.js'
import { ReaderTypes } from '../files/reader-types.js'
import { NamedChunks, unpack } from '../files/source.js'
import type { Call } from './arguments.js'
import { type FileFormatName, type FormatName, fileFormatNames } from './format-names.js'
import { Misuse } from './misuse.js'
import { type SourceFile, sqliteMagic } from './sources.js'

/** Rows of a source, with the numbers of their lines, or a record batch of a format that has types. */
export type SourcePiece = NumberedRows | ArrowBatch

/** What `import` says about the reading of a source. */
interface SourceOptions {
  /** Types of columns of the table. Formats without types read their texts as these types. */
  readonly target: Schema
  /** The table of a database to read. */
  readonly sourceTable?: string | undefined
  readonly delimiter?: string | undefined
  readonly columns?: readonly string[] | undefined
  readonly nulls?: readonly string[] | undefined
  readonly onBadRow?: OnBadRow
  readonly signal: AbortSignal
}

/** A source, and the beginning of its content. */
export interface OpenedSource {
  readonly path: string
  /** Whether the source is a folder, which has no content of its own. */
  readonly isFolder: boolean
  /** Whether the file is compressed by gzip. */
  readonly isPacked: boolean
  /** The first bytes, decompressed. The whole content if it is shorter. */
  readonly head: Uint8Array
  /** The last bytes. Empty for a compressed file, which has no end before it is read. */
  readonly tail: Uint8Array
  /** The whole content, decompressed. */
  readonly content: NamedChunks
}

interface SourceFormat {
  /** Endings of the names of files, with which a directory is searched. */
  readonly endings: readonly string[]
  /** Whether a file with these bytes has the format. The first format of the table that matches counts. */
  readonly matches: (source: Pick<OpenedSource, 'head' | 'tail' | 'isPacked'>) => boolean
  readonly read: (source: OpenedSource, options: SourceOptions) => AsyncIterable<SourcePiece>
}

/** The first and the last bytes of a Parquet file. */
const parquetMagic = 'PAR1'

const sourceFormats: Readonly<Record<FileFormatName, SourceFormat>> = {
  arrow: {
    endings: ['arrow', 'arrows', 'feather', 'ipc'],
    // The magic text of a file, or the continuation marker of a stream.
    matches: ({ head }) => startsWith(head, 'ARROW1') || startsWith(head, '\xff\xff\xff\xff'),
    read: ({ path, isPacked, content }, { signal }) => readArrow(isPacked ? content : path, { signal }),
  },
  parquet: {
    endings: ['parquet', 'pq'],
    matches: ({ head, tail, isPacked }) =>
      startsWith(head, parquetMagic) && (isPacked ? !isText(head) : startsWith(tail, parquetMagic)),
    read: ({ path, isPacked, content }, { signal }) => readParquet(isPacked ? content : path, { signal }),
  },
  sqlite: {
    endings: ['sqlite', 'sqlite3'],
    matches: ({ head, isPacked }) => !isPacked && startsWith(head, sqliteMagic),
    read: readDatabase,
  },
  hnswlib: {
    // Index files have no usual ending.
    endings: [],
    matches: ({ head, isPacked }) => !isPacked && isHnswlibHead(head),
    read: ({ path, isFolder }, { signal }) =>
      isFolder ? folderPieces(path, signal) : readHnswlib(path, { signal }),
  },
  jsonl: {
    endings: ['jsonl', 'ndjson'],
    matches: ({ head }) => isJsonObject(firstLine(head)),
    read: ({ content }, { target, onBadRow, signal }) =>
      jsonLinePieces(content, { signal }, typesOf(target), onBadRow),
  },
  csv: {
    endings: ['csv', 'tsv', 'txt'],
    matches: ({ head }) => isText(head),
    read: ({ head, content }, { target, delimiter, columns, nulls = [], onBadRow, signal }) =>
      csvPieces(
        content,
        { delimiter: delimiter ?? delimiterOf(firstLine(head)), columns, nulls: ['', ...nulls], signal },
        typesOf(target),
        onBadRow,
      ),
  },
}

/** The options that only one format has. */
const formatOptions = { delimiter: 'csv', columns: 'csv', nulls: 'csv', 'source-table': 'sqlite' } as const

/** Throw `Misuse` if an option is given that none of the formats of the sources has. */
export function checkFormatOptions(
  given: Pick<Call<'import'>, 'delimiter' | 'columns' | 'nulls' | 'sourceTable'>,
  formats: ReadonlySet<FormatName>,
): void {
  const { delimiter, columns, nulls, sourceTable } = given
  const values = { delimiter, columns, nulls, 'source-table': sourceTable }
  for (const [option, format] of Object.entries(formatOptions)) {
    if (values[option as keyof typeof values] === undefined || formats.has(format)) continue
    throw new Misuse(`--${option} needs the format ${format}, but no source has it`)
  }
}

/** Return whether a file of a directory is a source, by the ending of its name. */
export function hasKnownEnding(name: string): boolean {
  const ending = /\.([^.]+?)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase()
  return Object.values(sourceFormats).some(({ endings }) => endings.includes(ending ?? ''))
}

/** The format of a file is found in at most this number of its first bytes. */
const headBytes = 64 * 1024

/**
 * Open a source. `onBytes` is called with the number of bytes of the file that were read, while `content` is read.
 * Nothing stays open until the content is read.
 */
export async function openSource(
  { path, isFolder = false }: Pick<SourceFile, 'path' | 'isFolder'>,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<OpenedSource> {
  if (isFolder) {
    const nothing = new Uint8Array(0)
    const content = new NamedChunks(path, fileBytes(path, signal))
    return { path, isFolder, isPacked: false, head: nothing, tail: nothing, content }
  }
  const isPacked = startsWith(await firstBytes(fileBytes(path, signal), 2), '\x1f\x8b')
  const content = () => {
    const bytes = fileBytes(path, signal, onBytes)
    return isPacked ? unpack(bytes, path) : bytes
  }
  const raw = fileBytes(path, signal)
  const head = await firstBytes(isPacked ? unpack(raw, path) : raw, headBytes)
  const tail = isPacked ? new Uint8Array(0) : await lastBytes(path, parquetMagic.length)
  return {
    path,
    isFolder,
    isPacked,
    head,
    tail,
    content: new NamedChunks(path, { [Symbol.asyncIterator]: content }),
  }
}

/** Return the name of the format that a source has. Throws `InvalidInput` if its content has no known format. */
export function formatOf(source: OpenedSource): FileFormatName {
  const { path, head } = source
  if (source.isFolder) return 'hnswlib'
  const found = fileFormatNames.find(name => sourceFormats[name].matches(source))
  if (found !== undefined && !(found === 'csv' && firstLine(head).startsWith('['))) return found
  throw invalidInput(`the content of ${quote(path)} has no known format`, { hint: hintFor(head) })
}

/** Read a table of a SQLite file. */
async function* readDatabase(
  { path, isPacked }: OpenedSource,
  { target, sourceTable, signal }: SourceOptions,
): AsyncGenerator<SourcePiece> {
  if (isPacked) throw invalidInput(`${quote(path)} is compressed: unpack it, because SQLite reads only files`)
  const tables = sourceTable === undefined ? await sqliteTables(path) : [sourceTable]
  if (tables.length !== 1) {
    const which = tables.length === 0 ? 'no table' : `the tables ${tables.join(', ')}`
    throw new Misuse(`${path} has ${which}: pass the table or view to read in --source-table`)
  }
  const known = new Map(target.fields.map(field => [field.name, field]))
  const batches = sqliteBatches(path, selectAllFrom(tables[0]!), { fieldsOf: () => known, signal })
  yield* withHint(batches, /^pass types/, 'give the type of the column in --types column:type')
}

/** Yield pieces. An error with a hint about options of the library, which `pattern` matches, gets another hint. */
async function* withHint<T>(pieces: AsyncIterable<T>, pattern: RegExp, hint: string): AsyncGenerator<T> {
  try {
    yield* pieces
  } catch (error) {
    if (!(error instanceof SheafError && pattern.test(error.hint ?? ''))) throw error
    throw new SheafError(error.code, error.message, { hint, cause: error })
  }
}

/** Rows of a folder that are converted together. */
const folderRows = 1024

/** Read a folder that the HNSWLib store of LangChain saved. The lines of its rows are their numbers, from 1. */
async function* folderPieces(path: string, signal: AbortSignal): AsyncGenerator<NumberedRows> {
  let rows: Row[] = []
  let done = 0
  const piece = () => {
    const lines = rows.map((_, i) => done + i + 1)
    const found = { rows, lines }
    done += rows.length
    rows = []
    return found
  }
  const found = readHnswlibFolder(path, { signal })
  const way =
    "import the folder with a program: readHnswlibFolder(folder, { metadata: 'json' }) of sheaf/files"
  for await (const row of withHint(found, /^pass metadata/, way)) {
    rows.push(row)
    if (rows.length === folderRows) yield piece()
  }
  if (rows.length > 0) yield piece()
}

/** Read the rows of a source. */
export function readSource(
  source: OpenedSource,
  format: FileFormatName,
  options: SourceOptions,
): AsyncIterable<SourcePiece> {
  return sourceFormats[format].read(source, options)
}

function hintFor(head: Uint8Array): string {
  if (startsWith(head, '\xff\xfe') || startsWith(head, '\xfe\xff')) return 'it is UTF-16: convert it to UTF-8'
  if (startsWith(head, parquetMagic))
    return `it begins like a Parquet file, but does not end with ${parquetMagic}: it is cut off`
  if (startsWith(head, 'PK')) return 'it is a zip archive: unpack it'
  if (startsWith(head, '\x28\xb5\x2f\xfd')) return 'it is compressed by Zstandard: unpack it'
  if (firstLine(head).startsWith('[')) {
    return "it is a JSON array: write one object per line, for example with jq -c '.[]', or pass --format csv"
  }
  return `known formats are ${fileFormatNames.join(', ')}, also gzipped; pass --format if the file has one of them`
}

async function* fileBytes(
  path: string,
  signal: AbortSignal,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const file = await LocalFile.open(path)
  try {
    for await (const chunk of file.chunks(signal)) {
      yield chunk
      onBytes?.(chunk.length)
    }
  } finally {
    await file.close()
  }
}

async function firstBytes(chunks: AsyncIterable<Uint8Array>, count: number): Promise<Uint8Array> {
  const found: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    found.push(chunk)
    bytes += chunk.length
    if (bytes >= count) break
  }
  return Buffer.concat(found).subarray(0, count)
}

async function lastBytes(path: string, count: number): Promise<Uint8Array> {
  const file = await LocalFile.open(path)
  try {
    const length = Math.min(count, file.size)
    return await file.read(file.size - length, length)
  } finally {
    await file.close()
  }
}

function typesOf(target: Schema): ReaderTypes {
  const types = new ReaderTypes('import', () => ({}))
  types.readAs(target)
  return types
}

/** `text`: the bytes as characters of Latin-1. */
function startsWith(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.subarray(0, text.length)).toString('latin1') === text
}

/** Return the first line that is not blank, without a byte order mark. It may be cut at the end of `head`. */
function firstLine(head: Uint8Array): string {
  const text = Buffer.from(head)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  return /\S[^\r\n]*/.exec(text)?.[0] ?? ''
}

function isJsonObject(line: string): boolean {
  if (!line.startsWith('{')) return false
  try {
    JSON.parse(line)
    return true
  } catch {
    // A first line that is damaged or cut begins like an object.
    return /^\{\s*("|$)/.test(line)
  }
}

/** Return whether the beginning of a file is UTF-8 without control characters. A character may be cut at the end. */
function isText(head: Uint8Array): boolean {
  if (head.includes(0)) return false
  for (let cut = 0; cut < 4; cut++) if (isUtf8(head.subarray(0, head.length - cut))) return true
  return false
}

const delimiters = [',', '\t', ';', '|'] as const

/**
 * Return the delimiter of CSV from its first line: the delimiter that occurs most often outside of quotes, a comma if
 * there is none.
 */
export function delimiterOf(line: string): string {
  const bare = line.replace(/"(?:[^"]|"")*"?/g, '')
  const counts = delimiters.map(delimiter => bare.split(delimiter).length - 1)
  return delimiters[counts.indexOf(Math.max(...counts))]!
}
