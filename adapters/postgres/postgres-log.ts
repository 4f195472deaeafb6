/**
 * A commit log in a table of PostgreSQL. A row is a slot of a root.
 *
 * - The primary key makes a slot unique. The statement that inserts slot N also checks that slot N-1 exists and has the
 *   checksum that slot N names, and it locks slot N-1. So a writer that has missed a trim, or a database that was restored
 *   to an earlier time, cannot get a slot that does not belong to the log.
 * - A trim deletes rows, except slot 1, which loses only its bytes. So each late insert of a trimmed slot is refused: slot
 *   1 exists, and the slot before any other one has no bytes or no row.
 * - A slot is committed with `synchronous_commit` of at least `on`, whatever the setting of the server is.
 * - The commit of a slot notifies a channel of the root. A lost notification is no problem: callers poll, too.
 * - After a lost answer the outcome of an append is unknown. The caller appends the same slot again, and compares.
 */

import type { SlotRun } from '../../src/commit/commit-log.js'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { statedPrevious } from '../../src/commit/slot.js'
import type { BlobMark } from '../../src/storage/blob-store.js'
import type { Connections, Row } from './connections.js'
import { urlOf } from './log-url.js'
import { channelOf, type Statements, statementsOf } from './statements.js'

/** Maximum number of slots that one statement trims. */
const trimmedAtOnce = 1000

/** The place of a log. */
interface LogPlace {
  readonly schema: string
  readonly table: string
  readonly root: string
}

/** See the head of this file. */
export class PostgresLog implements ExternalLog {
  readonly name: string
  readonly #connections: Connections
  readonly #root: string
  readonly #sql: Statements
  readonly #channel: string
  /** The slot that this process appended last, and its size. */
  #own: BlobMark | null = null
  /** The callbacks of `watch`. They share a connection. */
  readonly #watching = new Set<() => void>()
  #stopListening = () => {}

  constructor(connections: Connections, { schema, table, root }: LogPlace) {
    this.name = urlOf(connections.name, { schema, table, root })
    this.#connections = connections
    this.#root = root
    this.#sql = statementsOf(schema, table)
    this.#channel = channelOf(schema, table, root)
  }

  /** Create the table if it does not exist. */
  async createTable(signal: AbortSignal | undefined): Promise<void> {
    const { find, name, create } = this.#sql
    const isThere = async () => {
      const [row] = await this.#connections.repeat('find the table', find, [name], signal)
      return row![0] === 't'
    }
    if (await isThere()) return
    try {
      for (const text of create) await this.#connections.repeat('create the table', text, [], signal)
    } catch (error) {
      // Another process may have created the table at the same time.
      if (!(await isThere())) throw error
    }
  }

  async read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    return (await this.readTogether(slot, 1, signal)).found[0]!
  }

  async readTogether(first: number, count: number, signal?: AbortSignal): Promise<SlotRun> {
    const rows = await this.#query(`read slot ${first}`, this.#sql.read, [first, first + count - 1], signal)
    const found = new Array<Uint8Array | null>(count).fill(null)
    let before: number | null = null
    let length = count
    for (const [number, bytes] of rows) {
      const slot = Number(number)
      if (slot < first) before = checksumOf(bytes!)
      else if (bytes == null) length = Math.min(length, slot - first)
      else found[slot - first] = Buffer.from(bytes, 'hex')
    }
    return { found: found.slice(0, length), mark: null, before }
  }

  async append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const previous = statedPrevious(bytes)
    const values = [
      this.#root,
      slot,
      bytesOf(bytes),
      previous === null ? null : littleEndian(previous),
      this.#channel,
    ]
    const rows = await this.#connections.runOnce(`write slot ${slot}`, this.#sql.append, values)
    if (rows[0]![0] !== 't') return 'taken'
    this.#own = { ino: slot, mtimeMs: 0, size: bytes.length }
    return 'won'
  }

  async begin(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const values = [this.#root, slot, bytesOf(bytes)]
    const rows = await this.#connections.runOnce(`write slot ${slot}`, this.#sql.begin, values)
    return rows[0]![0] === 't' ? 'won' : 'taken'
  }

  markOfOwn(slot: number): BlobMark | null {
    return this.#own?.ino === slot ? this.#own : null
  }

  async has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean> {
    const [row] = await this.#query(`read slot ${slot}`, this.#sql.checksum, [slot], signal)
    return row !== undefined && (crc === undefined || checksumOf(row[0]!) === crc)
  }

  async remove(slot: number): Promise<void> {
    await this.#query(`remove slot ${slot}`, this.#sql.empty, [slot])
  }

  async last(signal?: AbortSignal, after = -1): Promise<number> {
    const [row] = await this.#query('find the last slot', this.#sql.last, [after], signal)
    return row === undefined ? after : Number(row[0])
  }

  async first(signal?: AbortSignal): Promise<number | null> {
    const [row] = await this.#query('find the first slot', this.#sql.first, [], signal)
    return row === undefined ? null : Number(row[0])
  }

  fileOf(slot: number): string {
    return `slot ${slot} of ${this.name}`
  }

  async modified(slot: number, signal?: AbortSignal): Promise<number | null> {
    const [row] = await this.#query(`read slot ${slot}`, this.#sql.written, [slot], signal)
    return row === undefined ? null : Math.floor(Number(row[0]) * 1000)
  }

  async trim(to: number, signal?: AbortSignal): Promise<number> {
    const what = `trim slots up to ${to}`
    let count = (await this.#query(what, this.#sql.trimFirst, [to], signal)).length
    for (;;) {
      const rows = await this.#query(what, this.#sql.trim, [to, trimmedAtOnce], signal)
      count += rows.filter(([hadSlot]) => hadSlot === 't').length
      if (rows.length < trimmedAtOnce) return count
    }
  }

  watch(onNew: () => void): () => void {
    const call = () => onNew()
    this.#watching.add(call)
    if (this.#watching.size === 1) {
      this.#stopListening = this.#connections.listen(this.#sql.listen(this.#channel), () => {
        for (const each of this.#watching) each()
      })
    }
    return () => {
      if (this.#watching.delete(call) && this.#watching.size === 0) this.#stopListening()
    }
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  #query(
    what: string,
    text: string,
    values: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<readonly Row[]> {
    return this.#connections.repeat(what, text, [this.#root, ...values], signal)
  }
}

/** Return the schema in which unqualified names are created; null if there is none. */
export async function currentSchema(
  connections: Connections,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const [row] = await connections.repeat('find the schema', 'SELECT current_schema()::text', [], signal)
  return row![0]!
}

function bytesOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Return the checksum in four hexadecimal bytes of a trailer; null for bytes that are no slot. */
function checksumOf(hex: string): number | null {
  return hex.length < 8 ? null : Buffer.from(hex, 'hex').readUInt32LE()
}

function littleEndian(crc: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(crc)
  return bytes
}
