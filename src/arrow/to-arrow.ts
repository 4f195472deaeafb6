/** Converts batches to apache-arrow tables. The only file that loads this package, and only on use. */
import type { Table as ArrowTable } from 'apache-arrow'
import type { Batch } from './column.js'
import { concatChunks, encodeIpcStream } from './encode-ipc.js'
import type { Schema } from './types.js'

export type { ArrowTable }

/** A record batch of apache-arrow. */
export type ArrowBatch = ArrowTable['batches'][number]

/** Return a Table of the apache-arrow package that Sheaf depends on. The first call loads it (55-230 ms). */
export async function toArrowTable(schema: Schema, batches: readonly Batch[]): Promise<ArrowTable> {
  const { tableFromIPC } = await import('apache-arrow')
  return tableFromIPC(concatChunks(encodeIpcStream(schema, batches)))
}
