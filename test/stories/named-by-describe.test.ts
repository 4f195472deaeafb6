/**
 * Two versions of a lance table in one commit whose manifests have no final names yet. Describing the table named the newer
 * one only, and took the older for deleted ever after.
 */
import { expect, test } from 'vitest'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { connect } from '../../src/index.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { stage } from '../support/lance.js'

/** A store that cannot give final names. */
function nameless(inner: BlobStore): BlobStore {
  return new Proxy(inner, {
    get(target, name) {
      if (name === 'putIfAbsent') {
        return async (key: string, bytes: Uint8Array) => {
          if (key.endsWith('.manifest')) throw new SheafError(ErrorCode.ServiceUnavailable, 'not now')
          return target.putIfAbsent(key, bytes)
        }
      }
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('whichever operation is first, all versions of the commit can be opened', async () => {
  for (const look of ['describeTable', 'describeTableVersion', 'listTableVersions'] as const) {
    const store = new MemoryStore('memory://')
    const first = await connect('memory://', { store: nameless(store) })
    const { location } = await first.operations.declareTable({ id: ['t'] })
    const entries = []
    for (const v of [1, 2]) {
      const { version, manifest_path } = await stage(store, location!, v)
      entries.push({ id: ['t'], version, manifest_path })
    }
    await expect(first.operations.batchCreateTableVersions({ entries })).rejects.toMatchObject({
      kind: 'commit-state-unknown',
      message: expect.stringContaining('is committed'),
    })
    const second = await connect('memory://', { store })
    await second.operations[look]({ id: ['t'] })
    const { versions } = await second.operations.listTableVersions({ id: ['t'] })
    expect(versions.map(({ version }) => version)).toEqual([1, 2])
    expect(await second.operations.describeTableVersion({ id: ['t'], version: 1 })).toMatchObject({
      version: { version: 1 },
    })
    await first.close()
    await second.close()
  }
})
