/** Tells a version that ceased to exist while it was read from one that is damaged. */

import { ErrorCode, SheafError } from '../errors.js'
import { hasNumber } from '../manifest/runs.js'
import { idText } from '../protocol/identifiers.js'
import type { Root } from '../root/engine.js'

/**
 * What reading a version ended with, in the light of the newest state: code 11 where the version is no more, 4 where the table
 * is not, 14 where it never came to be.
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
    const message = `rows for table ${name} were given up for lost before they were committed`
    return new SheafError(ErrorCode.ConcurrentModification, message, { ...options, hint: 'try again' })
  }
  const message = `version ${version} of table ${name} has expired while it was read`
  const hint =
    'read a newer version; a tag keeps one, and maintenance.keepVersionsMs says for how long others stay'
  return new SheafError(ErrorCode.TableVersionNotFound, message, { ...options, hint })
}
