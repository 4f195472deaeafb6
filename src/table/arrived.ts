/** What a version has to wait for: its files may go while they are read, together with the version. */
import type { Layout } from '../manifest/layout.js'
import { orAborted } from '../primitives/abort.js'
import type { MaybePromise } from '../primitives/task.js'
import type { TableSource } from './table-source.js'

/** A version, as far as it is said what became of it. */
export interface Awaiting {
  readonly source: Pick<TableSource, 'explain'>
  readonly layout: Pick<Layout, 'table' | 'version'>
}

/** What is being loaded, once it is there. Throws `signal.reason`, or what became of the version where files of it are gone. */
export function arrived<T>(
  version: Awaiting,
  loading: MaybePromise<T>,
  signal: AbortSignal | undefined,
): MaybePromise<T> {
  if (loading instanceof Promise) return waitedFor(version, loading, signal)
  signal?.throwIfAborted()
  return loading
}

/** The same of what is not there yet. */
export async function waitedFor<T>(
  { source, layout }: Awaiting,
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
