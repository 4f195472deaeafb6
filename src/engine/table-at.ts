/** Which table a location belongs to. */
import { ownLocation } from '../catalog/state.js'
import type { Engine } from '../root/engine.js'
import { folderAt } from '../root/locations.js'

/**
 * The id of the table at `location`: the one that it has or, where it was deregistered, had last; null where no table is known there.
 * Throws code 13 for what is no location of this root.
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
