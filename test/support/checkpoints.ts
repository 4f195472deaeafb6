/** Makes a root write a checkpoint, which it does by itself once there is enough log. */
import { expect } from 'vitest'
import type { Namespace } from '../../src/index.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

/** What one name and value may have at most, less the name. */
const filler = 'x'.repeat(60_000)

/** Commits as much as it takes for one more checkpoint, and waits for it. */
export async function forceCheckpoint(ns: Namespace, store: BlobStore): Promise<void> {
  const before = await newest(store)
  await ns.createNamespace('filler')
  for (let i = 0; (await newest(store)) === before; i++) {
    expect(i, 'commits without a checkpoint').toBeLessThan(100)
    await ns.createNamespace('filler', { mode: 'overwrite', properties: { filler, i: String(i) } })
  }
  await ns.dropNamespace('filler')
}

/** The name of the newest checkpoint. */
async function newest(store: BlobStore): Promise<string | undefined> {
  for await (const { key } of store.list('_ckpt/')) return key
  return undefined
}
