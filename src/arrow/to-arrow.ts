/**
 * Converts batches to tables of apache-arrow. Only this file imports the package, when the function is first called.
 */
import type { Table as ArrowTable } from 'apache-arrow'
import type { Batch } from './column.js'
import { concatChunks, encodeIpcStream } from './encode-ipc.js'
import type { Schema } from './types.js'

export type { ArrowTable }

/** A record batch of apache-arrow. */
export type ArrowBatch = ArrowTable['batches'][number]

/** Return a Table of the apache-arrow package on which Sheaf depends. The first call loads the package (55-230 ms). */
export async function toArrowTable(schema: Schema, batches: readonly Batch[]): Promise<ArrowTable> {
  const { tableFromIPC } = await import('apache-arrow')
  return tableFromIPC(concatChunks(encodeIpcStream(schema, batches)))
}
