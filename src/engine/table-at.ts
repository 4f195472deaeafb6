/** Finds the table that is stored at a location. */
import { ownLocation } from '../catalog/state.js'
import type { Engine } from '../root/engine.js'
import { folderAt } from '../root/locations.js'

/**
 * Return the id of the table at `location`. For a deregistered table, this is the last id that it had. Returns null if
 * the location has no known table. Throws `InvalidInput` if `location` is not a location in this root.
 */
export async function tableAt(
  engine: Engine,
  location: string,
  signal: AbortSignal | undefined,
): Promise<readonly string[] | null> {
  const folder = folderAt(engine.location, location)
  const { detached, external, tables } = await engine.root.refresh(signal)
  const own = folder.startsWith(ownLocation('')) ? folder.slice(ownLocation('').length) : ''
  const head = detached.get(folder) ?? tables.get(external.get(folder) ?? own)
  return head?.id ?? null
}
