/** Hands batches out as apache-arrow tables: the only file that loads that package, and only when asked. */
import type { Table as ArrowTable } from 'apache-arrow'
import type { Batch } from './column.js'
import { concatChunks, encodeIpcStream } from './encode-ipc.js'
import type { Schema } from './types.js'

export type { ArrowTable }

/** A Table of the apache-arrow this package depends on. The first call loads it (55-230 ms). */
export async function toArrowTable(schema: Schema, batches: readonly Batch[]): Promise<ArrowTable> {
  const { tableFromIPC } = await import('apache-arrow')
  return tableFromIPC(concatChunks(encodeIpcStream(schema, batches)))
}
