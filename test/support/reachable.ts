/** Which files of tables a root needs, and which lie there: for audits. */
import { versionsWithData } from '../../src/catalog/retention.js'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { OpenedRoot } from '../../src/engine/opened-root.js'
import { creationSlotOfPath } from '../../src/manifest/file-names.js'
import { reachOf } from '../../src/manifest/reach.js'
import type { Clock } from '../../src/primitives/clock.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

export interface Report {
  readonly missing: readonly string[]
  /** Born before the sweep floor. */
  readonly needless: readonly string[]
}

/** `versionsOf`: which versions must be there whole; those that are held unless said otherwise. */
export async function reachable(
  store: BlobStore,
  clock: Clock,
  versionsOf = versionsWithData,
): Promise<Report> {
  const engine = await OpenedRoot.open(store, {
    location: 'memory://',
    create: false,
    readOnly: true,
    cacheBytes: 1 << 20,
    clock,
    warn: () => {},
    report: () => {},
    keep: resolveMaintenance({}),
  })
  try {
    const state = await engine.root.refresh()
    const versions = versionsOf(state)
    const needed = new Set<string>()
    for (const head of [...state.tables, ...state.detached].map(([, head]) => head)) {
      if (head.kind !== 'sheaf') continue
      const { files } = await reachOf(engine.versions, head, versions(head), new Pacer())
      for (const path of files) needed.add(`${head.location}/${path}`)
    }
    const needless: string[] = []
    for await (const { key } of store.list('tables/')) {
      if (needed.delete(key)) continue
      const location = key.split('/').slice(0, 2).join('/')
      const birth = creationSlotOfPath(key.slice(location.length + 1))
      if (birth !== null && birth < state.sweep.floor && !state.drops.has(location)) needless.push(key)
    }
    return { missing: [...needed], needless }
  } finally {
    await engine.close()
  }
}
