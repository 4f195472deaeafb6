/**
 * A Lance engine asks for the version after the newest it finds. Where the newest was deleted it asked for a number that had
 * been used, was told so, found nothing newer, and asked again, for ever. So the newest version of a table with data stays.
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { stage } from '../support/lance.js'

test('a table that lost all expendable versions accepts the next commit', async () => {
  const store = new MemoryStore('memory://story')
  const ns = await connect('memory://', { store })
  const { operations } = ns
  const id = ['t']
  const { location } = await operations.declareTable({ id })
  const commit = async (version: number) => {
    const { manifest_path } = await stage(store, location!, version)
    return (await operations.createTableVersion({ id, version, manifest_path })).version.version
  }
  for (let version = 1; version <= 3; version++) await commit(version)
  const ranges = [{ start_version: 0, end_version: -1 }]
  expect((await operations.batchDeleteTableVersions({ id, ranges })).deleted_count).toBe(2)
  const { version } = await operations.describeTableVersion({ id })
  expect(version.version).toBe(3)
  expect(await commit(version.version + 1)).toBe(4)
  await ns.close()
})
