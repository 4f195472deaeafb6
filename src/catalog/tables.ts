/**
 * Decides changes of tables' names, locations and properties: from a request and a state to operations, without side
 * effects.
 */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { idText } from '../protocol/identifiers.js'
import type { NamingScheme } from '../protocol/manifest-name.js'
import { findNamespace, tableNamed } from './lookup.js'
import type { CatalogOp, DeclareOp, DropOp, Properties, PropsOp, RenameOp } from './ops.js'
import { type CatalogState, ownLocation, type TableHead } from './state.js'
import { decideAdoption, type NewManifest } from './versions.js'

/** Limit of the characters in names and values of one table's properties, together. */
const propertiesMax = 65_536

/**
 * Decide the declaration of a table. `location`: default is a location that Sheaf chooses. Throws TableAlreadyExists,
 * NamespaceNotFound and InvalidInput for a location in use.
 */
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

/** The versions found at a location that is to be registered. */
export interface FoundVersions {
  readonly scheme: NamingScheme
  readonly versions: readonly (readonly [version: number, size: number])[]
}

/** A table to register. */
interface Registration {
  readonly id: readonly string[]
  readonly uuid: string
  readonly location: string
  readonly props: Properties
  /** Null if the location was not searched, because the state knew the table. */
  readonly found: FoundVersions | null
  /** Manifests that a Lance engine wrote while the table was deregistered. */
  readonly since?: readonly NewManifest[]
}

/**
 * Decide the registration of a table. A deregistered table is attached again as it was. Any other location becomes a
 * new table with the versions found there. `mode`: with `Overwrite` an existing table of that name is dropped.
 *
 * Throws TableAlreadyExists, and ConcurrentModification if `found` is null and the state does not know the table any
 * more.
 */
export function decideRegisterTable(
  state: CatalogState,
  registration: Registration,
  mode: 'Create' | 'Overwrite',
): readonly CatalogOp[] {
  const { id, location, props } = registration
  const registered = () => registrationOps(state, registration)
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

function registrationOps(
  state: CatalogState,
  { id, uuid, location, props, found, since = [] }: Registration,
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

/** Decide to drop a table. */
export function decideDropTable(head: TableHead): DropOp {
  return { op: 'drop', t: head.uuid }
}

/**
 * Decide to rename a table. Returns no operation if it has that name already. Throws TableAlreadyExists and
 * NamespaceNotFound.
 */
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

/** Decide to merge properties by key. Returns no operation if they are set already. */
export function decideProps(head: TableHead, props: Properties): readonly PropsOp[] {
  if (Object.entries(props).every(([key, value]) => head.props[key] === value)) return []
  merged(head, props)
  return [{ op: 'props', t: head.uuid, set: props }]
}

/** Merge properties into those of a table. Throws InvalidInput when they are too long together. */
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

/**
 * Check that a location belongs to no other table, and is neither inside nor around the location of another table
 * (STORAGE S17).
 */
function checkLocationIsFree(state: CatalogState, location: string): void {
  if (state.detached.has(location)) {
    throw invalidInput(`location ${quote(location)} belongs to a deregistered table`, {
      hint: 'register the table there to have it back',
    })
  }
  if (isAround(ownLocation(''), location) || isAround(location, ownLocation(''))) {
    throw invalidInput(`location ${quote(location)} is in or around the folder of Sheaf's own tables`, {
      hint: 'leave location out, or choose another folder of the root',
    })
  }
  for (const [other] of state.external) {
    if (!isAround(other, location) && !isAround(location, other)) continue
    throw invalidInput(`location ${quote(location)} overlaps ${quote(other)}, the location of another table`)
  }
}

/** Return whether `inner` equals `outer` or is inside it. */
function isAround(outer: string, inner: string): boolean {
  return `${inner}/`.startsWith(outer.endsWith('/') ? outer : `${outer}/`)
}
