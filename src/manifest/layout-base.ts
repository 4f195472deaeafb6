/**
 * Encodes and decodes stored manifests of versions, which the code calls bases. Replay computes the manifest of a later
 * version from a base and the changes after it.
 *
 *     {"f":1,"need":[],"t":uuid,"v":version,"schema":{...},"earlier":[...],"next":{...},"columns":[[1,2]],"frags":[
 *     {"id":3,"rows":65536,"ids":{"row0":0},"files":[...],"dead":{"parts":[...],"count":12},"zones":{...}},
 *     [4,1,65536,17,0,216,1,0],
 *     ...
 *     ]}
 *     9ac1f00d
 *
 * A base is one JSON document with one line per fragment, then its CRC-32 as eight hex digits, and "\n". Its bytes
 * depend only on the manifest, and on the manifest of the version `baseBefore`. So all writers of the base of one
 * version write the same bytes.
 *
 * Most bases have only the difference to an earlier base. Then `from` is the version of the earlier base, and `edits`
 * says which of its fragments the lines replace. So the bytes that are written for a table do not grow with the square
 * of its versions.
 */
import { corrupted, quote, type SheafError, unsupported } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import { manifestName } from '../protocol/manifest-name.js'
import { movesFeature } from './change.js'
import {
  type DataFile,
  type Fragment,
  type FragmentLine,
  type Layout,
  layoutOfLines,
  linesOf,
  own,
  type RowIds,
  type RunsPlace,
  type ShortLine,
  sameFragment,
} from './layout.js'
import { featuresOfIndexes, indexFeatures, type TableIndex } from './table-index.js'

/**
 * Replay of a table begins with the base of a version that is a multiple of this number. Every such version gets a base.
 */
export const versionsPerBase = 64
/** The base before a base is found in the digits of its number in this number system. */
const radix = 4

/**
 * Return the version of the base to which the base of `version` has the difference. Returns 0 if the base of `version`
 * has the whole manifest.
 *
 * The bases have the numbers 1, 2, 3 and so on. The number of the base before is found by setting the last digit that
 * is not 0 to 0, with four digits 0 to 3. So a manifest is in at most as many bases as its number has digits. Each
 * fragment is written about twice for each digit.
 */
export function baseBefore(version: number): number {
  if (version % versionsPerBase !== 0) return 0
  const number = version / versionsPerBase
  for (let place = 1; place <= number; place *= radix) {
    const digit = Math.floor(number / place) % radix
    if (digit > 0) return (number - digit * place) * versionsPerBase
  }
  return 0
}

/** Return the versions of the bases that contain the manifest of `version`, the newest first. */
export function basesOf(version: number): number[] {
  const versions: number[] = []
  for (let at = version; at > 0; at = baseBefore(at)) versions.push(at)
  return versions
}

/** Number of fragments that are compared before the pacer is asked. */
const checkedAtOnce = 256
/** Fragment lines are encoded and decoded in pieces of about this many characters. */
const sliceLength = 64 * 1024
const fileStart = Buffer.from('{"f":1,')
const fileEnd = ']}\n'
const checksumBytes = 9
const newline = 0x0a
const comma = 0x2c

/** Return the key of the stored manifest of a version. `location`: the table's folder. */
export function baseKey(location: string, version: number): string {
  return `${location}/_versions/${manifestName(version, 'V2')}`
}

/** The members of a manifest that a base leaves out if they are the same in the base before. */
type Shared = 'schema' | 'earlier' | 'indexes'

/** The fragments of a base: `gone` fragments of the base before from `at` on are replaced by the next `added` lines. */
type Edit = readonly [at: number, gone: number, added: number]

/** The content of one base. */
export interface BasePart extends Pick<Layout, 'table' | 'version' | 'next'>, Partial<Pick<Layout, Shared>> {
  /** The version of the base before; 0 if `lines` are all fragments. */
  readonly from: number
  readonly edits: readonly Edit[]
  readonly lines: readonly FragmentLine[]
}

/** Encode the manifest of a version. `before`: the manifest of the version `baseBefore`; null if that is 0. */
export async function encodeBase(layout: Layout, before: Layout | null, pacer: Pacer): Promise<Uint8Array> {
  const { table: t, version: v, schema, earlier, indexes, next } = layout
  const { row, frag, field } = next
  const { edits, fragments, start } =
    before === null
      ? { edits: null, fragments: layout.fragments, start: 0 }
      : await differenceOf(before.fragments, layout.fragments, pacer)
  const columns = new ColumnLists()
  const lines: string[] = []
  for (const fragment of fragments) {
    lines.push(JSON.stringify(plainFragment(fragment, columns)))
    if (pacer.due()) await pacer.pause()
  }
  const changed = <M extends Shared>(member: M, value: Layout[M]) =>
    before === null || JSON.stringify(before[member]) !== JSON.stringify(value)
  const head = JSON.stringify({
    f: 1,
    need: featuresOf(layout, before, start),
    t,
    v,
    ...(before !== null && { from: before.version, edits }),
    ...(changed('schema', schema) && { schema }),
    ...(changed('earlier', earlier) && { earlier }),
    ...(changed('indexes', indexes) && { indexes }),
    next: { row, frag, field },
    columns: columns.lists,
    frags: [],
  })
  const parts: Uint8Array[] = []
  let crc = 0
  const add = (text: string) => {
    const part = Buffer.from(text)
    crc = crc32(part, crc)
    parts.push(part)
  }
  let text = `${head.slice(0, -2)}\n`
  for (const [i, line] of lines.entries()) {
    text += `${line}${i === lines.length - 1 ? '' : ','}\n`
    if (text.length < sliceLength) continue
    add(text)
    text = ''
    await pacer.turn()
  }
  add(text + fileEnd)
  parts.push(Buffer.from(`${crcHex(crc)}\n`))
  return Buffer.concat(parts)
}

/**
 * Return the fragments that only `after` has, and the edits that make `after` of `before`. `start`: the number of
 * fragments with which both begin.
 */
async function differenceOf(before: readonly Fragment[], after: readonly Fragment[], pacer: Pacer) {
  // Most commits add fragments at the end. So skip what both lists begin with.
  const start = await commonStart(before, after, pacer)
  const positions = new Map<number, number>()
  for (let position = start; position < before.length; position++) {
    positions.set(before[position]!.id, position)
    if (position % checkedAtOnce === 0) await pacer.turn()
  }
  const edits: Edit[] = []
  const fragments: Fragment[] = []
  let at = start
  let added = 0
  const end = (position: number) => {
    if (position > at || added > 0) edits.push([at, position - at, added])
    added = 0
    at = position + 1
  }
  for (let i = start; i < after.length; i++) {
    const fragment = after[i]!
    const position = positions.get(fragment.id) ?? -1
    if (position >= at && sameFragment(before[position]!, fragment)) end(position)
    else {
      fragments.push(fragment)
      added++
    }
    if (i % checkedAtOnce === 0) await pacer.turn()
  }
  end(before.length)
  return { edits, fragments, start }
}

/** Return the number of equal fragments with which both lists begin. */
async function commonStart(before: readonly Fragment[], after: readonly Fragment[], pacer: Pacer) {
  const most = Math.min(before.length, after.length)
  for (let i = 0; i < most; i++) {
    const a = before[i]!
    const b = after[i]!
    if (a !== b && (a.id !== b.id || !sameFragment(a, b))) return i
    if (i % checkedAtOnce === 0) await pacer.turn()
  }
  return most
}

/** Return the manifest that a base has. `before`: the manifest of the base before; null if the base has none. */
export function layoutOfBase(part: BasePart, before: Layout | null, key: string): Layout {
  const { table, version, from, edits, next, lines } = part
  const { schema = before?.schema, earlier = before?.earlier ?? [], indexes = before?.indexes ?? [] } = part
  if (schema === undefined) throw damaged(key, 'it has no schema')
  const others = { table, version, schema, earlier, indexes, next }
  if (from === 0 || before === null) return layoutOfLines(others, lines)
  const earlierLines = linesOf(before)
  const all: FragmentLine[] = []
  let kept = 0
  let line = 0
  for (const [at, gone, added] of edits) {
    if (at < kept || at + gone > earlierLines.length || line + added > lines.length) {
      throw damaged(key, `its edits do not fit to the base of version ${from}`)
    }
    for (; kept < at; kept++) all.push(earlierLines[kept]!)
    for (const stop = line + added; line < stop; line++) all.push(lines[line]!)
    kept = at + gone
  }
  if (line < lines.length) throw damaged(key, 'its edits have fewer fragments than it has lines')
  for (; kept < earlierLines.length; kept++) all.push(earlierLines[kept]!)
  return layoutOfLines(others, all)
}

/**
 * Decode the base of version `version` of `table`, read from `key`. Throws Unsupported if the bytes do not begin like a
 * base. Then a newer Sheaf wrote the file, or it is another file at a location that a caller chose. Throws Internal
 * ("corrupted") if the bytes are damaged or belong to another version.
 */
export async function decodeBase(
  bytes: Uint8Array,
  table: string,
  version: number,
  key: string,
  pacer: Pacer,
): Promise<BasePart> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length > 0 && !file.subarray(0, fileStart.length).equals(fileStart)) {
    throw unsupported(
      `${quote(key)} is not a stored manifest of a version, or it was written by a newer Sheaf`,
    )
  }
  const end = file.length - checksumBytes
  if (end < fileStart.length) throw damaged(key, `it has only ${file.length} bytes`)
  if (!hasChecksum(bytes)) throw damaged(key, 'its last line is not the checksum of its bytes')
  const body = file.indexOf(newline) + 1
  const { columns, ...head } = headOf(parse(`${file.toString('utf8', 0, body)}]}`, key), table, version, key)
  const bodyEnd = end - fileEnd.length
  if (file.toString('latin1', bodyEnd, end) !== fileEnd)
    throw damaged(key, 'its list of fragments is incomplete')
  const lines: FragmentLine[] = []
  for (let at = body; at < bodyEnd; ) {
    // Parse complete lines: extend the piece to the end of its last line.
    const lineEnd = file.indexOf(newline, Math.min(at + sliceLength, bodyEnd - 1))
    const textEnd = file[lineEnd - 1] === comma ? lineEnd - 1 : lineEnd
    for (const value of parse(`[${file.toString('utf8', at, textEnd)}]`, key) as readonly unknown[]) {
      const line = lineOf(value, columns)
      if (line === null) throw damaged(key, `its fragment ${lines.length} is invalid`)
      lines.push(line)
    }
    at = lineEnd + 1
    await pacer.turn()
  }
  return { table, version, ...head, lines }
}

/** Check the first line of a base. */
function headOf(head: unknown, table: string, version: number, key: string) {
  const {
    need,
    t,
    v,
    from = 0,
    edits = [],
    schema,
    earlier,
    indexes,
    next,
    columns,
  } = head as Record<string, unknown>
  if (!Array.isArray(need) || !need.every(feature => knownFeatures.includes(feature))) {
    throw unsupported(
      `${quote(key)} needs features that this version of Sheaf does not support: ${quote(need)}`,
    )
  }
  if (t !== table || v !== version)
    throw damaged(key, `it belongs to version ${quote(v)} of table ${quote(t)}`)
  if ((from !== 0 && from !== baseBefore(version)) || !Array.isArray(edits) || !edits.every(isEdit))
    throw damaged(key, `it has the difference to version ${quote(from)}, or its edits are invalid`)
  const hasSchemas =
    (isSchema(schema) || (schema === undefined && from > 0)) &&
    (earlier === undefined || (Array.isArray(earlier) && earlier.every(isSchema)))
  if (!hasSchemas || !isCounters(next))
    throw damaged(key, 'its schemas or its counters are missing or invalid')
  if (indexes !== undefined && !(Array.isArray(indexes) && indexes.every(isIndex)))
    throw damaged(key, 'its list of indexes is invalid')
  if (!Array.isArray(columns) || !columns.every(list => Array.isArray(list) && list.every(isCount)))
    throw damaged(key, 'its lists of columns are invalid')
  return {
    from: from as number,
    edits: edits as readonly Edit[],
    ...(schema !== undefined && { schema: schema as Layout['schema'] }),
    ...(earlier !== undefined && { earlier: earlier as Layout['earlier'] }),
    ...(indexes !== undefined && { indexes: indexes as Layout['indexes'] }),
    next,
    columns: columns as readonly (readonly number[])[],
  }
}

function isEdit(value: unknown): boolean {
  return Array.isArray(value) && value.length === 3 && value.every(isCount)
}

/** The lists of field ids of short lines, each list once. */
class ColumnLists {
  readonly lists: (readonly number[])[] = []
  readonly #numbers = new Map<string, number>()

  numberOf(fields: readonly number[]): number {
    const key = fields.join()
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.lists.push(fields) - 1
      this.#numbers.set(key, number)
    }
    return number
  }
}

/** A short line as it is stored: with the number of the list of its columns. */
type StoredShortLine = readonly [...numbers: number[], columns: number]

const shortLength = 8

/**
 * Check a parsed line, and put the list of its columns into it. Returns null if the line is invalid. `columns`: the lists
 * of columns of the file.
 */
function lineOf(line: unknown, columns: readonly (readonly number[])[]): FragmentLine | null {
  if (!Array.isArray(line)) return isFragment(line) ? line : null
  if (line.length !== shortLength) return null
  for (let i = 0; i < shortLength; i++) if (line[i] >>> 0 !== line[i] && !isCount(line[i])) return null
  const fields = columns[line[shortLength - 1]]
  if (fields === undefined) return null
  line[shortLength - 1] = fields
  return line as ShortLine
}

const knownFeatures: readonly unknown[] = [movesFeature, ...indexFeatures]

/** Lists of fragments that all have ascending row ids. */
const ascendingLists = new WeakSet<readonly Fragment[]>()

/** Return the features that a manifest needs. `before`: a manifest that begins with the same `start` fragments, or null. */
function featuresOf({ fragments, indexes }: Layout, before: Layout | null, start: number): readonly string[] {
  const checked = before !== null && ascendingLists.has(before.fragments) ? start : 0
  let hasUnordered = false
  for (let i = checked; i < fragments.length && !hasUnordered; i++)
    hasUnordered = 'ascending' in fragments[i]!.ids
  if (!hasUnordered) ascendingLists.add(fragments)
  return [...(hasUnordered ? [movesFeature] : []), ...featuresOfIndexes(indexes)]
}

/** Return whether the first line of a base is that of this version of this table. The base may have a newer format. */
export function saysItIsOf(bytes: Uint8Array, table: string, version: number): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    const { t, v } = JSON.parse(`${file.toString('utf8', 0, file.indexOf(newline))}]}`) as Record<
      string,
      unknown
    >
    return t === table && v === version
  } catch {
    return false
  }
}

/** Return whether the last line of a base is the checksum of the bytes before it. */
export function hasChecksum(bytes: Uint8Array): boolean {
  const end = Math.max(0, bytes.length - checksumBytes)
  const crc = `${crcHex(crc32(bytes.subarray(0, end)))}\n`
  return Buffer.from(bytes.buffer, bytes.byteOffset + end, bytes.length - end).toString('latin1') === crc
}

/** Copy a fragment with its fields in the order of the file format. Their order in memory may differ. */
function plainFragment({ id, rows, ids, files, dead, zones }: Fragment, columns: ColumnLists) {
  const [only] = files
  if (
    files.length === 1 &&
    'slot' in only! &&
    'row0' in ids &&
    dead.parts.length === 0 &&
    zones === undefined
  ) {
    const { slot, blob, bytes, schema, fields } = only
    const line: StoredShortLine = [id, rows, ids.row0, slot, blob, bytes, schema, columns.numberOf(fields)]
    return line
  }
  return {
    id,
    rows,
    ids: plainIds(ids),
    files: files.map(plainFile),
    dead: { parts: dead.parts.map(plainRuns), count: dead.count },
    // The field ids in `zones` need no sorting, because JavaScript sorts integer keys.
    ...(zones !== undefined && { zones }),
  }
}

function plainIds(ids: RowIds) {
  if ('row0' in ids) return { row0: ids.row0 }
  const { least, greatest, ascending } = ids
  return { ...plainRuns(own(ids)), least, greatest, ...(ascending !== undefined && { ascending }) }
}

function plainFile(data: DataFile) {
  if ('file' in data) {
    const { file, bytes, crc, fields } = data
    return { file, bytes, crc, fields }
  }
  const { slot, blob, bytes, schema, fields } = own(data)
  return { slot, blob, bytes, schema, fields }
}

function plainRuns(runs: RunsPlace) {
  if ('file' in runs) return { file: runs.file, bytes: runs.bytes, crc: runs.crc }
  const { slot, blob } = own(runs)
  return { slot, blob }
}

function isFragment(value: unknown): value is Fragment {
  if (!isRecord(value)) return false
  const { id, rows, ids, files, dead, zones } = value
  return (
    areCounts(id, rows) &&
    isIds(ids) &&
    Array.isArray(files) &&
    files.every(isFile) &&
    isRecord(dead) &&
    areCounts(dead.count) &&
    Array.isArray(dead.parts) &&
    dead.parts.every(isRuns) &&
    (zones === undefined || isRecord(zones))
  )
}

function isIds(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { row0, least, greatest, ascending } = value
  if (row0 !== undefined) return isCount(row0)
  return isRuns(value) && areCounts(least, greatest) && (ascending === undefined || ascending === false)
}

function isFile(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { file, bytes, crc, slot, blob, schema, fields } = value
  const placed = typeof file === 'string' ? areCounts(bytes, crc) : areCounts(bytes, slot, blob, schema)
  return placed && Array.isArray(fields) && fields.every(isCount)
}

function isRuns(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { file, bytes, crc, slot, blob } = value
  return typeof file === 'string' ? areCounts(bytes, crc) : areCounts(slot, blob)
}

function isIndex(value: unknown): value is TableIndex {
  if (!isRecord(value)) return false
  const { name, uuid, kind, field, ts, vector, segments } = value
  return (
    [name, uuid, kind].every(each => typeof each === 'string') &&
    areCounts(field, ts) &&
    (vector === undefined || isRecord(vector)) &&
    Array.isArray(segments) &&
    segments.every(isSegment)
  )
}

function isSegment(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { file, bytes, crc, rows, begun = rows, cover } = value
  return (
    typeof file === 'string' &&
    areCounts(bytes, crc, rows, begun) &&
    Array.isArray(cover) &&
    cover.every(isCover)
  )
}

function isCover(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { first, count, fragment, at, file, gone } = value
  return (
    areCounts(first, count, fragment, at) &&
    typeof file === 'string' &&
    (gone === undefined || (isRuns(gone) && areCounts((gone as { count?: unknown }).count)))
  )
}

function isSchema(value: unknown): value is Layout['schema'] {
  return isRecord(value) && areCounts(value.id) && Array.isArray(value.fields)
}

function isCounters(value: unknown): value is Layout['next'] {
  return isRecord(value) && areCounts(value.row, value.frag, value.field)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function areCounts(...values: readonly unknown[]): boolean {
  return values.every(isCount)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function parse(text: string, key: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw damaged(key, 'it is not JSON', cause)
  }
}

function damaged(key: string, what: string, cause?: unknown): SheafError {
  return corrupted(`${quote(key)} is damaged: ${what}`, { cause })
}
