/** Distinguishes versions that expired during a read from damaged versions. */

import { ErrorCode, SheafError } from '../errors.js'
import { hasNumber } from '../manifest/runs.js'
import { idText } from '../protocol/identifiers.js'
import type { Root, Versions } from '../root/engine.js'

/**
 * Return the error that explains why a read failed, according to the newest state. `TableVersionNotFound`: the version
 * has expired, or a Lance engine has deleted it. `TableNotFound`: the table was dropped. `ConcurrentModification`: the
 * version was never committed. In other cases, returns `error`.
 */
export async function explainLoss(
  root: Root,
  { history, lance }: Pick<Versions, 'history' | 'lance'>,
  table: string,
  version: number,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) return error
  const state = await root.refresh().catch(() => null)
  if (state === null) return error
  const options = { cause: error }
  const head = state.tables.get(table) ?? [...state.detached].find(([, { uuid }]) => uuid === table)?.[1]
  if (head === undefined) {
    return new SheafError(ErrorCode.TableNotFound, `table ${table} was dropped while it was read`, options)
  }
  const name = idText(head.id)
  if (hasNumber(head.live, version)) {
    // Lance engines delete versions without telling the catalog: the manifest, and the files that only it needs.
    const record = head.kind === 'lance' ? await history.find(table, version) : null
    if (record === null || (await lance.isThere(record))) return error
    const deleted = `version ${version} of table ${name} was deleted by a Lance engine while it was read`
    const hint = 'read a newer version; LanceDB keeps versions that have a tag'
    return new SheafError(ErrorCode.TableVersionNotFound, deleted, { ...options, hint })
  }
  if (version > head.mark) {
    const message = `rows of table ${name} were not committed in time, so garbage collection may have deleted their files`
    return new SheafError(ErrorCode.ConcurrentModification, message, { ...options, hint: 'try again' })
  }
  const message = `version ${version} of table ${name} has expired while it was read`
  const hint =
    'read a newer version; to keep a version, tag it, or set maintenance.keepVersionsMs to a longer time'
  return new SheafError(ErrorCode.TableVersionNotFound, message, { ...options, hint })
}
