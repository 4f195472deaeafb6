/**
 * Reads a table while the process looks whether the log has a new slot. In object storage, this look takes as long as a
 * read of a file. If it finds a newer version of the table, the read is repeated.
 */
import { tableNamed } from '../catalog/lookup.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { HandlerOptions } from '../protocol/calls.js'
import type { Engine } from '../root/engine.js'

/**
 * Return the result of `read` for a state that includes everything that was committed before this call, or for a state that
 * is fresh enough (`maxStalenessMs`). `read` gets a state and the options with a signal. It may be called twice. It must
 * depend only on the table `id` of the state, and on its jobs.
 */
export async function besideRefresh<R>(
  engine: Engine,
  id: readonly string[],
  options: HandlerOptions,
  read: (state: CatalogState, options: HandlerOptions) => Promise<R>,
): Promise<R> {
  const { root } = engine
  const { signal, table } = options
  if (root.isFar !== true) return read(await root.refresh(signal), options)
  const known = root.state
  if (isFresh(engine, options)) {
    try {
      return await read(known, options)
    } catch (error) {
      // Errors are those of the newest state: files of this state may have been deleted.
      const state = await root.refresh(signal)
      if (isSame(known, state, id, table)) throw error
      return read(state, options)
    }
  }
  const early = new AbortController()
  const reading = read(known, {
    ...options,
    signal: signal === undefined ? early.signal : AbortSignal.any([signal, early.signal]),
  })
  // The error counts only if the state is still the newest one.
  reading.catch(() => {})
  try {
    const state = await root.refresh(signal)
    if (isSame(known, state, id, table)) return await reading
    early.abort(outdated)
    return await read(state, options)
  } catch (error) {
    early.abort(outdated)
    throw error
  }
}

/** Return whether the state of this process is fresh enough for a query. */
export function isFresh(
  { root, ...engine }: Pick<Engine, 'root' | 'maxStalenessMs'>,
  { maxStalenessMs = engine.maxStalenessMs }: Pick<HandlerOptions, 'maxStalenessMs'>,
): boolean {
  return maxStalenessMs > 0 && root.isFar === true && root.ageMs !== undefined && root.ageMs <= maxStalenessMs
}

/** Return whether two states have the same table and the same jobs. */
function isSame(a: CatalogState, b: CatalogState, id: readonly string[], uuid: string | undefined): boolean {
  return a.jobs === b.jobs && headIn(a, id, uuid) === headIn(b, id, uuid)
}

function headIn(state: CatalogState, id: readonly string[], uuid: string | undefined): TableHead | undefined {
  return uuid === undefined ? tableNamed(state, id) : state.tables.get(uuid)
}

/** The reason why a read is aborted whose state is no longer the newest one. No caller gets it. */
const outdated = new SheafError(ErrorCode.Internal, 'the table has a newer version')
