/**
 * Waits for reads of a version. Garbage collection may delete the files while they are read: then the error names the
 * expired version.
 */
import type { Layout } from '../manifest/layout.js'
import { orAborted } from '../primitives/abort.js'
import type { MaybePromise } from '../primitives/task.js'
import type { TableSource } from './table-source.js'

/** The version that is read, and the source that explains errors of reading it. */
export interface ReadVersion {
  readonly source: Pick<TableSource, 'explain'>
  readonly layout: Pick<Layout, 'table' | 'version'>
}

/**
 * Wait for a load. Throws `signal.reason`, or the explanation of the source (`TableSource.explain`) when the load
 * fails.
 */
export function arrived<T>(
  version: ReadVersion,
  loading: MaybePromise<T>,
  signal: AbortSignal | undefined,
): MaybePromise<T> {
  if (loading instanceof Promise) return waitedFor(version, loading, signal)
  signal?.throwIfAborted()
  return loading
}

/** Wait for a load that has not ended; see `arrived`. */
export async function waitedFor<T>(
  { source, layout }: ReadVersion,
  loading: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await orAborted(loading, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw (await source.explain?.(layout.table, layout.version, error)) ?? error
  }
}
