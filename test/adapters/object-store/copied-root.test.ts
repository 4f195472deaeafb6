import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ObjectStore } from '../../../adapters/object-store/object-store.js'
import { connect } from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'
import { MemoryBucket } from './memory-bucket.js'

const freshRoot = temporaryRoots()

test('a root that was copied from a directory to a bucket has all commits, and takes further ones', async () => {
  const root = freshRoot()
  const local = await connect(root)
  const table = await local.createTable('t', [{ id: 0, text: 'sheaves' }])
  for (let id = 1; id < 20; id++) await table.add([{ id, text: `row ${id}` }])
  const bucket = new MemoryBucket()
  const store = new ObjectStore(bucket, { prefix: 'copy/', timeoutMs: 1000, retries: 2 })
  // The writer has not closed the root: its last slots may be in a tail.
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const key = path.slice(root.length + 1).replaceAll('\\', '/')
    if (entry.isFile() && !key.startsWith('_tmp/')) await store.put(key, readFileSync(path))
  }
  await local.close()
  for (const rows of [21, 22]) {
    const remote = await connect('the copy', { store })
    const copied = await remote.openTable('t')
    await copied.add([{ id: rows - 1, text: 'added' }])
    expect(await copied.countRows()).toBe(rows)
    expect(await copied.search('sheaves').select(['id']).toArray()).toMatchObject([{ id: 0 }])
    expect((await remote.verify()).problems).toEqual([])
    await remote.close()
  }
})
