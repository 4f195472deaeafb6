/**
 * Waits for reads of a version. If a version expires, garbage collection may delete its files during a read. Then the
 * error says which version has expired.
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
 * Wait for a load, and return its value. If the load fails, throw the error that `TableSource.explain` returns. If
 * `signal` is aborted, throw `signal.reason`.
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

/** Wait for a load that is a promise, as `arrived` does. */
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
