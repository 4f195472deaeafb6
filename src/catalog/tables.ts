/** Decides what a change of the table directory means: a request and a state in, operations out. */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { idText } from '../protocol/identifiers.js'
import type { NamingScheme } from '../protocol/manifest-name.js'
import { findNamespace, tableNamed } from './lookup.js'
import type { CatalogOp, DeclareOp, DropOp, Properties, PropsOp, RenameOp } from './ops.js'
import { type CatalogState, ownLocation, type TableHead } from './state.js'
import { decideAdoption, type NewManifest } from './versions.js'

/** Characters of names and values that the properties of one table may have together. */
const propertiesMax = 65_536

/** Throws code 5 when the name is taken, code 1 when its namespace is missing. `location` absent: one of its own. */
export function decideDeclareTable(
  state: CatalogState,
  id: readonly string[],
  uuid: string,
  props: Properties,
  location: string = ownLocation(uuid),
): DeclareOp {
  checkNameIsFree(state, id)
  if (location !== ownLocation(uuid)) checkLocationIsFree(state, location)
  return { op: 'declare', t: uuid, id, location, props }
}

/** What lies at a location that is to be registered. */
export interface FoundVersions {
  readonly scheme: NamingScheme
  readonly versions: readonly (readonly [version: number, size: number])[]
}

/**
 * A table that was deregistered is back as it was; anything else is a new table with the versions that were found. `found` is
 * null where nobody looked, because the state knew the table; throws code 14 where it does not any more. `since`: what a Lance engine wrote while the table
 * was deregistered.
 * Throws code 5 when the name is taken, unless it is to be overwritten: then the table it names is dropped.
 */
export function decideRegisterTable(
  state: CatalogState,
  id: readonly string[],
  uuid: string,
  location: string,
  mode: 'Create' | 'Overwrite',
  props: Properties,
  found: FoundVersions | null,
  since: readonly NewManifest[] = [],
): readonly CatalogOp[] {
  const registered = () => registration(state, id, uuid, location, props, found, since)
  const known = tableNamed(state, id)
  if (known !== undefined && mode === 'Overwrite') {
    if (known.location === location) return decideProps(known, props)
    const external = state.external.delete(known.location)
    if (!state.detached.has(location)) checkLocationIsFree({ ...state, external }, location)
    return [{ op: 'drop', t: known.uuid }, ...registered()]
  }
  checkNameIsFree(state, id)
  if (!state.detached.has(location)) checkLocationIsFree(state, location)
  return registered()
}

function registration(
  state: CatalogState,
  id: readonly string[],
  uuid: string,
  location: string,
  props: Properties,
  found: FoundVersions | null,
  since: readonly NewManifest[],
): readonly CatalogOp[] {
  const detached = state.detached.get(location)
  if (detached !== undefined) {
    const attach: CatalogOp = {
      op: 'attach',
      t: detached.uuid,
      location,
      id,
      props: merged(detached, props),
    }
    return [attach, ...decideAdoption(detached, since)]
  }
  if (found === null) {
    const message = `the table at location ${quote(location)} was registered or dropped by another call meanwhile`
    throw new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
  }
  return [{ op: 'register', t: uuid, id, location, props, ...found }]
}

export function decideDropTable(head: TableHead): DropOp {
  return { op: 'drop', t: head.uuid }
}

/** No operation: it has that name already. Throws code 5 when another table has it, code 1 without the namespace. */
export function decideRenameTable(
  state: CatalogState,
  head: TableHead,
  name: string,
  namespace: readonly string[] = head.id.slice(0, -1),
): readonly RenameOp[] {
  const id = [...namespace, name]
  findNamespace(state, namespace)
  if (tableNamed(state, id)?.uuid === head.uuid) return []
  checkNameIsFree(state, id)
  return [{ op: 'rename', t: head.uuid, id }]
}

/** Merges properties by key. No operation: they are so already. */
export function decideProps(head: TableHead, props: Properties): readonly PropsOp[] {
  if (Object.entries(props).every(([key, value]) => head.props[key] === value)) return []
  merged(head, props)
  return [{ op: 'props', t: head.uuid, set: props }]
}

/** Properties of a table and those given on top. Throws code 13 when they are too many together. */
export function merged(head: TableHead, props: Properties): Properties {
  const all = { ...head.props, ...props }
  const length = Object.entries(all).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (length <= propertiesMax) return all
  throw invalidInput(
    `the properties of table ${idText(head.id)} would have ${length} characters, more than ${propertiesMax}`,
  )
}

function checkNameIsFree(state: CatalogState, id: readonly string[]): void {
  if (id.length === 0) throw invalidInput('the root namespace is not a table')
  if (findNamespace(state, id.slice(0, -1)).tables.has(id.at(-1)!)) {
    throw new SheafError(ErrorCode.TableAlreadyExists, `table ${idText(id)} already exists`)
  }
}

/** A location a caller chose belongs to one table, and lies neither in nor around that of another (STORAGE S17). */
function checkLocationIsFree(state: CatalogState, location: string): void {
  if (state.detached.has(location)) {
    throw invalidInput(`location ${quote(location)} belongs to a deregistered table`, {
      hint: 'register the table there to have it back',
    })
  }
  if (isAround(ownLocation(''), location) || isAround(location, ownLocation(''))) {
    throw invalidInput(`location ${quote(location)} lies where Sheaf keeps tables of its own`, {
      hint: 'leave location out, or choose another folder of the root',
    })
  }
  for (const [other] of state.external) {
    if (!isAround(other, location) && !isAround(location, other)) continue
    throw invalidInput(
      `location ${quote(location)} is, or lies in or around, ${quote(other)} of another table`,
    )
  }
}

/** Whether `inner` is `outer` or lies in it. */
function isAround(outer: string, inner: string): boolean {
  return `${inner}/`.startsWith(outer.endsWith('/') ? outer : `${outer}/`)
}
