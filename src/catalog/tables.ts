/** Decides what a change of the table directory means: a request and a state in, operations out. */
import { ErrorCode, invalidInput, SheafError } from '../errors.js'
import { findNamespace, findTable, idText } from './lookup.js'
import type { DeclareOp, DropOp } from './ops.js'
import { type CatalogState, newTable } from './state.js'

/** Throws code 5 when the name is taken, code 1 when its namespace is missing. */
export function decideDeclareTable(
  state: CatalogState,
  id: readonly string[],
  uuid: string,
  props: Readonly<Record<string, string>>,
): DeclareOp {
  const name = id.at(-1)
  if (name === undefined) throw invalidInput('the root namespace is not a table')
  if (findNamespace(state, id.slice(0, -1)).tables.has(name)) {
    throw new SheafError(ErrorCode.TableAlreadyExists, `table ${idText(id)} already exists`)
  }
  return { op: 'declare', t: uuid, id, location: newTable(uuid, id, props).location, props }
}

export function decideDropTable(state: CatalogState, id: readonly string[]): DropOp {
  return { op: 'drop', t: findTable(state, id).uuid }
}
