/**
 * Reads manifests of Lance tables (`lance.table.Manifest` of table.proto). A manifest lists the columns and the fragments
 * of one version of a table.
 */
import { invalidInput, unsupported } from '../errors.js'
import { MessageReader } from './protobuf.js'
import { type LanceField, type LanceSchema, nestLanceFields, pushField, readLanceField } from './schema.js'
import { manifestMessage, messageAt } from './tail.js'

/** A file with some columns of a fragment. */
export interface LanceDataFile {
  /** The path in the folder `data` of the table. */
  readonly path: string
  /** The ids of the fields in the file. A negative id belongs to a field that is no longer read from this file. */
  readonly fields: readonly number[]
  /** For each field its column of the file; -1 for a field that has no column of its own. */
  readonly columns: readonly number[]
  /** The version of the file format, for example `2.2`. */
  readonly version: string
  /** The size in bytes; 0 if it is unknown. */
  readonly bytes: number
  /** The id of another folder with the file. Null: the file is in the folder of the table. */
  readonly base: number | null
}

/** The file with the deleted rows of a fragment. */
export interface LanceDeletions {
  readonly kind: 'arrow' | 'bitmap'
  /** The path in the folder of the table. */
  readonly path: string
  /** The number of deleted rows; 0 if it is unknown. */
  readonly rows: number
  readonly base: number | null
}

/** Bytes of a message `RowIdSequence`, or their place in a file. */
export type LanceRowIds =
  | { readonly bytes: Uint8Array }
  | { readonly path: string; readonly offset: number; readonly size: number }

/** Rows of a table that were written together. */
export interface LanceFragment {
  readonly id: number
  /** The number of rows, with the deleted rows; 0 if it is unknown. */
  readonly rows: number
  readonly files: readonly LanceDataFile[]
  readonly deletions: LanceDeletions | null
  /** The stable ids of the rows. Null: the ids of the rows are their positions. */
  readonly rowIds: LanceRowIds | null
}

/** A segment of an index of a Lance table. An index consists of all segments with its name. */
export interface LanceIndex {
  readonly name: string
  /** The name of the folder with its files in the folder `_indices`. Empty if the manifest has none. */
  readonly uuid: string
  /** The ids of the indexed fields. */
  readonly fields: readonly number[]
  /** The type of the definition, for example `/lance.table.VectorIndexDetails`. Empty if the index has none. */
  readonly type: string
  /** The ids of the fragments whose rows it has, as a Roaring bitmap. Null: not recorded. */
  readonly fragments: Uint8Array | null
  /** The version of the format that readers must know. */
  readonly version: number
  /** The time of the build in milliseconds since 1970; 0 if it is not recorded. */
  readonly createdAt: number
  /** The id of another folder with the files. Null: the files are in the folder of the table. */
  readonly base: number | null
}

/** The content of one version of a Lance table. */
export interface LanceManifest {
  readonly version: number
  readonly schema: LanceSchema
  readonly fragments: readonly LanceFragment[]
  /** The time of the commit in milliseconds since 1970. */
  readonly timestamp: number
  /** The branch of the version. Null: the main branch. */
  readonly branch: string | null
  readonly config: Readonly<Record<string, string>>
  readonly indexes: readonly LanceIndex[]
  readonly readerFlags: bigint
  readonly writerFlags: bigint
  readonly nextRowId: number
  /** The version of the file format of new files, for example `2.2`. Empty if it is not recorded. */
  readonly fileVersion: string
}

/**
 * The features that a reader must know, by bit: deletion files (1), stable row ids (2), the second file format (4), table
 * configuration (8), other base folders (16), transactions in manifests (32).
 */
const knownFlags = 63n
const stableRowIds = 2n

/**
 * Read a manifest. `name`: the name of the file, for errors.
 * @throws InvalidInput if the manifest is damaged. Unsupported if readers must know a feature that Sheaf does not know.
 */
export function readManifest(bytes: Uint8Array, name: string): LanceManifest {
  const message = new MessageReader(manifestMessage(bytes, name))
  const fields: LanceField[] = []
  const metadata: [string, string][] = []
  const config: [string, string][] = []
  const fragments: LanceFragment[] = []
  const found = { version: 0, timestamp: 0, branch: '', nextRowId: 0, fileVersion: '' }
  let [readerFlags, writerFlags] = [0n, 0n]
  let indexSection: bigint | null = null
  while (message.next()) {
    if (message.field === 1) pushField(fields, readLanceField(message.message()))
    else if (message.field === 2) fragments.push(readFragment(message.message(), fragments.length, name))
    else if (message.field === 3) found.version = message.count()
    else if (message.field === 5) metadata.push(readEntry(message.message()))
    else if (message.field === 6) indexSection = message.uint64()
    else if (message.field === 7) found.timestamp = readTimestamp(message.message())
    else if (message.field === 9) readerFlags = message.uint64()
    else if (message.field === 10) writerFlags = message.uint64()
    else if (message.field === 14) found.nextRowId = message.count()
    else if (message.field === 15) found.fileVersion = readFormat(message.message())
    else if (message.field === 16) config.push(readEntry(message.message()))
    else if (message.field === 20) found.branch = message.text()
    else message.skip()
  }
  checkFlags(readerFlags, name)
  checkFragments(fragments, (readerFlags & stableRowIds) !== 0n, name)
  const { version, timestamp, nextRowId, fileVersion } = found
  return {
    version,
    schema: { fields: nestLanceFields(fields), metadata: Object.fromEntries(metadata) },
    fragments,
    timestamp,
    branch: found.branch === '' || found.branch === 'main' ? null : found.branch,
    config: Object.fromEntries(config),
    indexes: indexSection === null ? [] : readIndexes(messageAt(bytes, indexSection, name)),
    readerFlags,
    writerFlags,
    nextRowId,
    fileVersion,
  }
}

function checkFlags(flags: bigint, name: string): void {
  const unknown = flags & ~knownFlags
  if (unknown === 0n) return
  throw unsupported(`${name} needs the features ${unknown} of Lance, which Sheaf does not know`, {
    hint: 'read the table with LanceDB, or update Sheaf',
  })
}

function checkFragments(fragments: readonly LanceFragment[], hasRowIds: boolean, name: string): void {
  const ids = new Set<number>()
  for (const { id, rows, rowIds, deletions } of fragments) {
    if (ids.has(id)) throw invalidInput(`${name} is damaged: it has two fragments with the id ${id}`)
    ids.add(id)
    if (rows > maxRows) throw invalidInput(`${name} is damaged: fragment ${id} has ${rows} rows`)
    if (hasRowIds && rowIds === null)
      throw invalidInput(
        `${name} is damaged: fragment ${id} has no row ids, but the table has stable row ids`,
      )
    if ((deletions?.rows ?? 0) > rows && rows > 0)
      throw invalidInput(
        `${name} is damaged: fragment ${id} has ${rows} rows and ${deletions!.rows} deleted rows`,
      )
  }
}

/** Maximum number of rows of a fragment: offsets of rows have 32 bits. */
const maxRows = 2 ** 32 - 1

/** Maximum number of fragments. Each takes about a kilobyte of memory. */
const maxFragments = 2 ** 18

/** Read a fragment. `before`: the number of fragments before it in the manifest `name`. */
function readFragment(message: MessageReader, before: number, name: string): LanceFragment {
  if (before === maxFragments) {
    throw unsupported(`${name} has more than ${maxFragments} fragments`, {
      hint: 'compact the table with optimize() of LanceDB',
    })
  }
  const files: LanceDataFile[] = []
  let [id, rows] = [0, 0]
  let deletions: ((fragment: number) => LanceDeletions) | null = null
  let rowIds: LanceRowIds | null = null
  while (message.next()) {
    if (message.field === 1) id = message.count()
    else if (message.field === 2) files.push(readFile(message.message()))
    else if (message.field === 3) deletions = readDeletions(message.message())
    else if (message.field === 4) rows = message.count()
    else if (message.field === 5) rowIds = { bytes: message.bytes().slice() }
    else if (message.field === 6) rowIds = readExternal(message.message())
    else message.skip()
  }
  checkFields(id, files)
  return { id, rows, files, deletions: deletions?.(id) ?? null, rowIds }
}

/** Check that no field of a fragment has values in two columns of its files. */
function checkFields(fragment: number, files: readonly LanceDataFile[]): void {
  const stored = new Set<number>()
  for (const { fields, columns } of files) {
    for (const [i, id] of fields.entries()) {
      if (id < 0 || (columns[i] ?? -1) < 0) continue
      if (stored.has(id))
        throw invalidInput(`a Lance manifest is damaged: fragment ${fragment} stores field ${id} twice`)
      stored.add(id)
    }
  }
}

function readFile(message: MessageReader): LanceDataFile {
  const fields: number[] = []
  const columns: number[] = []
  let path = ''
  let [major, minor, bytes] = [0, 0, 0]
  let base: number | null = null
  while (message.next()) {
    if (message.field === 1) path = checkedPath(message.text())
    else if (message.field === 2) message.int32sInto(fields)
    else if (message.field === 3) message.int32sInto(columns)
    else if (message.field === 4) major = message.count()
    else if (message.field === 5) minor = message.count()
    else if (message.field === 6) bytes = message.count()
    else if (message.field === 7) base = message.count()
    else message.skip()
  }
  if (columns.length > 0 && columns.length !== fields.length) {
    throw invalidInput(
      `a Lance manifest is damaged: the file ${path} has ${fields.length} fields and ${columns.length} columns`,
    )
  }
  // Writers of version 2.0 recorded 0.3 first.
  const version = major === 0 ? (minor === 3 ? '2.0' : '0.1') : `${major}.${minor}`
  return { path, fields, columns, version, bytes, base }
}

function readDeletions(message: MessageReader): (fragment: number) => LanceDeletions {
  let [type, readVersion, rows] = [0, 0, 0]
  let id = 0n
  let base: number | null = null
  while (message.next()) {
    if (message.field === 1) type = message.count()
    else if (message.field === 2) readVersion = message.count()
    else if (message.field === 3) id = message.uint64()
    else if (message.field === 4) rows = message.count()
    else if (message.field === 7) base = message.count()
    else message.skip()
  }
  if (type > 1) throw unsupported(`a deletion file of Lance has the type ${type}, which Sheaf does not know`)
  const kind = type === 0 ? 'arrow' : 'bitmap'
  return fragment => {
    const path = `_deletions/${fragment}-${readVersion}-${id}.${kind === 'arrow' ? 'arrow' : 'bin'}`
    return { kind, path, rows, base }
  }
}

function readExternal(message: MessageReader): LanceRowIds {
  let path = ''
  let [offset, size] = [0, 0]
  while (message.next()) {
    if (message.field === 1) path = checkedPath(message.text())
    else if (message.field === 2) offset = message.count()
    else if (message.field === 3) size = message.count()
    else message.skip()
  }
  return { path, offset, size }
}

/** Check that a path stays in the folder of its table. */
function checkedPath(path: string): string {
  const isInside = path !== '' && path.split('/').every(name => name !== '' && name !== '.' && name !== '..')
  if (isInside && !path.includes('\0') && !path.includes('\\')) return path
  throw invalidInput(
    `a Lance manifest refers to the path ${JSON.stringify(path)}, which is not a path in a table`,
  )
}

function readEntry(message: MessageReader): [string, string] {
  let [key, value] = ['', '']
  while (message.next()) {
    if (message.field === 1) key = message.text()
    else if (message.field === 2) value = message.text()
    else message.skip()
  }
  return [key, value]
}

/** Maximum distance of a `Date` from 1970 in milliseconds. */
const maxTime = 8.64e15

function readTimestamp(message: MessageReader): number {
  let [seconds, nanos] = [0, 0]
  while (message.next()) {
    if (message.field === 1) seconds = Number(message.int64())
    else if (message.field === 2) nanos = message.int32()
    else message.skip()
  }
  const time = seconds * 1000 + Math.floor(nanos / 1_000_000)
  if (Math.abs(time) > maxTime) throw invalidInput(`a Lance manifest has the time ${seconds} s`)
  return time
}

function readFormat(message: MessageReader): string {
  let version = ''
  while (message.next()) {
    if (message.field === 2) version = message.text()
    else message.skip()
  }
  return version
}

function readIndexes(bytes: Uint8Array): LanceIndex[] {
  const message = new MessageReader(bytes)
  const indexes: LanceIndex[] = []
  while (message.next()) {
    if (message.field === 1) indexes.push(readIndex(message.message()))
    else message.skip()
  }
  return indexes
}

function readIndex(message: MessageReader): LanceIndex {
  const fields: number[] = []
  let [name, type, uuid] = ['', '', '']
  let [version, createdAt] = [0, 0]
  let fragments: Uint8Array | null = null
  let base: number | null = null
  while (message.next()) {
    if (message.field === 1) uuid = readUuid(message.message())
    else if (message.field === 2) message.int32sInto(fields)
    else if (message.field === 3) name = message.text()
    else if (message.field === 5) fragments = message.bytes().slice()
    else if (message.field === 6) type = readType(message.message())
    else if (message.field === 7) version = message.int32()
    else if (message.field === 8) createdAt = message.count()
    else if (message.field === 9) base = message.count()
    else message.skip()
  }
  return { name, uuid, fields, type, fragments, version, createdAt, base }
}

/** Read a UUID as text. Returns '' if it does not have 16 bytes. */
function readUuid(message: MessageReader): string {
  let bytes = new Uint8Array(0)
  while (message.next()) {
    if (message.field === 1) bytes = message.bytes().slice()
    else message.skip()
  }
  if (bytes.length !== 16) return ''
  const digits = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Read the type of a message `google.protobuf.Any`. */
function readType(message: MessageReader): string {
  let type = ''
  while (message.next()) {
    if (message.field === 1) type = message.text()
    else message.skip()
  }
  return type
}
