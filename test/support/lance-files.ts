/** Reads whole Lance files, for tests. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Column } from '../../src/arrow/column.js'
import { columnValues } from '../../src/arrow/values.js'
import { type LanceFile, openLanceFile } from '../../src/lance/file.js'
import type { LanceBytes } from '../../src/lance/range-reader.js'

/** Bytes in memory that count the bytes that were read. */
export class CountedBytes implements LanceBytes {
  readonly bytes: number
  readonly #content: Uint8Array
  /** Number of bytes read so far. */
  bytesRead = 0
  /** Number of reads so far. */
  reads = 0

  constructor(content: Uint8Array) {
    this.#content = content
    this.bytes = content.length
  }

  async read(start: number, end: number, signal?: AbortSignal): Promise<Uint8Array> {
    signal?.throwIfAborted()
    this.bytesRead += end - start
    this.reads++
    return this.#content.slice(start, end)
  }

  async readInto(start: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    target.set(await this.read(start, start + target.length, signal))
  }
}

/** Return the data files of a table of LanceDB. */
export function dataFiles(folder: string): string[] {
  return readdirSync(join(folder, 'data'))
    .filter(name => name.endsWith('.lance'))
    .map(name => join(folder, 'data', name))
}

/** Open a file of the disk. */
export function openFile(path: string): Promise<LanceFile> {
  return openLanceFile(new CountedBytes(new Uint8Array(readFileSync(path))), path)
}

/** Read all columns of a file. */
export function readColumns(file: LanceFile, from = 0, to = file.rows): Promise<Column[]> {
  const ids = file.columnIds()
  return Promise.all(file.schema.fields.map(field => file.readColumn(field, id => ids.get(id), from, to)))
}

/** Return the values of a column in a form that can be compared. */
export function comparable(column: Column): unknown[] {
  return columnValues(column, { int64: 'bigint', vectors: 'array' }).map(plain)
}

/** Replace bytes by text, because the comparison of long arrays is slow. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('base64')}`
  return Array.isArray(value) ? value.map(plain) : value
}
