/** Distinguishes versions that expired while they were read from versions that are damaged. */

import { ErrorCode, SheafError } from '../errors.js'
import { hasNumber } from '../manifest/runs.js'
import { idText } from '../protocol/identifiers.js'
import type { Root } from '../root/engine.js'

/**
 * Explain a read error by the newest state: `TableVersionNotFound` if the version has expired, `TableNotFound` if the
 * table was dropped, `ConcurrentModification` if the version was never committed. Otherwise returns `error`.
 */
export async function explainLoss(
  root: Root,
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
  if (hasNumber(head.live, version)) return error
  const name = idText(head.id)
  if (version > head.mark) {
    const message = `rows for table ${name} were not committed in time: garbage collection may have deleted their files`
    return new SheafError(ErrorCode.ConcurrentModification, message, { ...options, hint: 'try again' })
  }
  const message = `version ${version} of table ${name} has expired while it was read`
  const hint =
    'read a newer version; a tag keeps one, and maintenance.keepVersionsMs says for how long others stay'
  return new SheafError(ErrorCode.TableVersionNotFound, message, { ...options, hint })
}
