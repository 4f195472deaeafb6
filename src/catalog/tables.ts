/**
 * Computes the operations that change names, locations and properties of tables, from a request and a state. Has no
 * side effects.
 */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { idText } from '../protocol/identifiers.js'
import type { NamingScheme } from '../protocol/manifest-name.js'
import { findNamespace, tableNamed } from './lookup.js'
import type { CatalogOp, DeclareOp, DropOp, Properties, PropsOp, RenameOp } from './ops.js'
import { type CatalogState, ownLocation, type TableHead } from './state.js'
import { decideAdoption, type NewManifest } from './versions.js'

/** Maximum number of characters of all property names and values of one table together. */
const propertiesMax = 65_536

/**
 * Return the operation that declares a table. `location`: default is a location that Sheaf chooses. Throws
 * TableAlreadyExists, NamespaceNotFound, and InvalidInput for a location in use.
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

/** The versions that were found at a location. */
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
  /**
   * The versions at the location. Null if the location was not searched, because the state had a deregistered table
   * there.
   */
  readonly found: FoundVersions | null
  /** The manifests that a Lance engine wrote while the table was deregistered. */
  readonly since?: readonly NewManifest[]
}

/**
 * Return the operations that register a table. A deregistered table at the location is attached again. Otherwise a new
 * table is created with the versions that were found there. `mode`: `Overwrite` drops an existing table with the same
 * name first.
 *
 * Throws TableAlreadyExists. Throws ConcurrentModification if `found` is null and the location no longer has a
 * deregistered table.
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

/** Return the operation that drops a table. */
export function decideDropTable(head: TableHead): DropOp {
  return { op: 'drop', t: head.uuid }
}

/**
 * Return the operation that renames a table. Returns none if the table has that name already. Throws TableAlreadyExists
 * and NamespaceNotFound.
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

/**
 * Return the operation that merges properties by name. Returns none if all properties are set to these values already.
 */
export function decideProps(head: TableHead, props: Properties): readonly PropsOp[] {
  if (Object.entries(props).every(([key, value]) => head.props[key] === value)) return []
  merged(head, props)
  return [{ op: 'props', t: head.uuid, set: props }]
}

/** Merge properties into those of a table. Throws InvalidInput if all properties together are too long. */
export function merged(head: TableHead, props: Properties): Properties {
  const all = { ...head.props, ...props }
  const length = Object.entries(all).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (length <= propertiesMax) return all
  throw invalidInput(
    `the properties of table ${idText(head.id)} would have ${length} characters, more than the limit of ${propertiesMax}`,
  )
}

function checkNameIsFree(state: CatalogState, id: readonly string[]): void {
  if (id.length === 0) throw invalidInput('the root namespace is not a table')
  if (findNamespace(state, id.slice(0, -1)).tables.has(id.at(-1)!)) {
    throw new SheafError(ErrorCode.TableAlreadyExists, `table ${idText(id)} already exists`)
  }
}

/** Check that no other table uses a location, or a folder inside or above it (STORAGE S17). */
function checkLocationIsFree(state: CatalogState, location: string): void {
  if (state.detached.has(location)) {
    throw invalidInput(`location ${quote(location)} belongs to a deregistered table`, {
      hint: 'register the table with this location to attach it again',
    })
  }
  if (isAround(ownLocation(''), location) || isAround(location, ownLocation(''))) {
    throw invalidInput(
      `location ${quote(location)} overlaps the folder of tables whose location Sheaf chooses`,
      {
        hint: 'leave out location, or choose another folder of the root',
      },
    )
  }
  for (const [other] of state.external) {
    if (!isAround(other, location) && !isAround(location, other)) continue
    throw invalidInput(`location ${quote(location)} overlaps ${quote(other)}, the location of another table`)
  }
}

/**
 * Return whether `inner` is the same path as `outer` or is inside it. Ignores case, because some disks do: there, `Lake`
 * and `lake` are one folder.
 */
function isAround(outer: string, inner: string): boolean {
  const folder = outer.endsWith('/') ? outer : `${outer}/`
  return `${inner}/`.toLowerCase().startsWith(folder.toLowerCase())
}
