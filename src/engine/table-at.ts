/** Finds the table at a location. */
import { ownLocation } from '../catalog/state.js'
import type { Engine } from '../root/engine.js'
import { folderAt } from '../root/locations.js'

/**
 * Return the id of the table at `location`; for a deregistered table, the last id that it had; null if no table is
 * known there. Throws `InvalidInput` if `location` is not a location of this root.
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
