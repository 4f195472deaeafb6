/**
 * Encodes and decodes stored manifests of versions, which the code calls bases. Replay computes the manifest of a later
 * version from a base and the changes after it.
 *
 *     {"f":1,"need":[],"t":uuid,"v":version,"schema":{...},"earlier":[...],"next":{...},"frags":[
 *     {"id":3,"rows":65536,"ids":{"row0":0},"files":[...],"dead":{"parts":[...],"count":12},"zones":{...}},
 *     {"id":4,...}
 *     ]}
 *     9ac1f00d
 *
 * A base is one JSON document with one line per fragment, then its CRC-32 as eight hex digits, and "\n". Its bytes
 * depend only on the manifest. So all writers of the base of one version write the same bytes.
 */
import { corrupted, quote, type SheafError, unsupported } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import { manifestName } from '../protocol/manifest-name.js'
import { movesFeature } from './change.js'
import type { DataFile, Fragment, Layout, RowIds, RunsPlace } from './layout.js'
import { featuresOfIndexes, indexFeatures, type TableIndex } from './table-index.js'

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

/** Encode the manifest of a version. */
export async function encodeBase(layout: Layout, pacer: Pacer): Promise<Uint8Array> {
  const { table: t, version: v, schema, earlier, indexes, next, fragments } = layout
  const { row, frag, field } = next
  const head = JSON.stringify({
    f: 1,
    need: featuresOf(layout),
    t,
    v,
    schema,
    earlier,
    // Leave out an empty list, so that the bytes are the same as those of earlier releases of Sheaf.
    ...(indexes.length > 0 && { indexes }),
    next: { row, frag, field },
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
  for (const [i, fragment] of fragments.entries()) {
    text += `${JSON.stringify(plainFragment(fragment))}${i === fragments.length - 1 ? '' : ','}\n`
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
 * Decode the stored manifest of version `version` of `table`, read from `key`. Throws Unsupported if the bytes do not
 * begin like a base. Then a newer Sheaf wrote the file, or it is another file at a location that a caller chose. Throws
 * Internal ("corrupted") if the bytes are damaged or belong to another version.
 */
export async function decodeBase(
  bytes: Uint8Array,
  table: string,
  version: number,
  key: string,
  pacer: Pacer,
): Promise<Layout> {
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
  const head = parse(`${file.toString('utf8', 0, body)}]}`, key)
  const { need, t, v, schema, earlier, indexes = [], next } = head as Record<string, unknown>
  if (!Array.isArray(need) || !need.every(feature => knownFeatures.includes(feature))) {
    throw unsupported(
      `${quote(key)} needs features that this version of Sheaf does not support: ${quote(need)}`,
    )
  }
  if (t !== table || v !== version)
    throw damaged(key, `it belongs to version ${quote(v)} of table ${quote(t)}`)
  if (!isSchema(schema) || !Array.isArray(earlier) || !earlier.every(isSchema) || !isCounters(next))
    throw damaged(key, 'its schemas or its counters are missing or invalid')
  if (!Array.isArray(indexes) || !indexes.every(isIndex)) throw damaged(key, 'its list of indexes is invalid')
  const bodyEnd = end - fileEnd.length
  if (file.toString('latin1', bodyEnd, end) !== fileEnd)
    throw damaged(key, 'its list of fragments is incomplete')
  const fragments: Fragment[] = []
  for (let at = body; at < bodyEnd; ) {
    // Parse complete lines: extend the piece to the end of its last line.
    const lineEnd = file.indexOf(newline, Math.min(at + sliceLength, bodyEnd - 1))
    const textEnd = file[lineEnd - 1] === comma ? lineEnd - 1 : lineEnd
    for (const fragment of parse(`[${file.toString('utf8', at, textEnd)}]`, key) as readonly unknown[]) {
      if (!isFragment(fragment)) throw damaged(key, `its fragment ${fragments.length} is invalid`)
      fragments.push(fragment)
    }
    at = lineEnd + 1
    await pacer.turn()
  }
  return { table, version, schema, earlier, indexes, fragments, next }
}

const knownFeatures: readonly unknown[] = [movesFeature, ...indexFeatures]

function featuresOf({ fragments, indexes }: Layout): readonly string[] {
  const moves = fragments.some(isUnordered) ? [movesFeature] : []
  return [...moves, ...featuresOfIndexes(indexes)]
}

function isUnordered({ ids }: Fragment): boolean {
  return 'ascending' in ids
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
function plainFragment({ id, rows, ids, files, dead, zones }: Fragment) {
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
  return { ...plainRuns(ids), least, greatest, ...(ascending !== undefined && { ascending }) }
}

function plainFile(data: DataFile) {
  if ('file' in data) {
    const { file, bytes, crc, fields } = data
    return { file, bytes, crc, fields }
  }
  const { slot, blob, bytes, schema, fields } = data
  return { slot, blob, bytes, schema, fields }
}

function plainRuns(runs: RunsPlace) {
  if ('file' in runs) return { file: runs.file, bytes: runs.bytes, crc: runs.crc }
  return { slot: runs.slot, blob: runs.blob }
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
