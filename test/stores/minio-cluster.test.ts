/** Four nodes of MinIO with erasure coding: the guarantees, also while nodes are killed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkStore } from '../../adapters/storage/public.js'
import { connect } from '../../src/index.js'
import { printLatencies } from './latencies.js'
import { MinioCluster, mayCreateNetworks } from './minio-cluster.js'
import { minioProvider } from './providers.js'

const { program } = minioProvider
const isAllowed = mayCreateNetworks()

describe.runIf(program !== null && isAllowed)('four nodes of MinIO', () => {
  let cluster: MinioCluster
  beforeAll(async () => {
    cluster = await MinioCluster.start(program!.command, program!.env!)
    await minioProvider.createBucket(cluster.url)
  })
  afterAll(() => cluster?.stop())

  test('checkStore passes, and prints the latencies', async () => {
    const store = await minioProvider.open(cluster.url, { prefix: 'checked' })
    const { checks, latencies } = await checkStore(store, { races: 20 })
    expect(checks.filter(check => !check.passed)).toEqual([])
    printLatencies(latencies)
  })

  test('no acknowledged commit is lost, and none is made twice, while nodes are killed', async () => {
    const path = minioProvider.path('killed')
    const storage = minioProvider.storage(cluster.url)
    const ns = await connect(path, { storage })
    const table = await ns.createTable('t', [{ id: 0 }])
    const acknowledged = [0]
    let isOver = false
    const writing = (async () => {
      for (let id = 1; !isOver; id++) {
        await table.add([{ id }]).then(
          () => acknowledged.push(id),
          () => {},
        )
      }
    })()
    for (const node of [2, 4, 3]) {
      await new Promise(resolve => setTimeout(resolve, 1000))
      await cluster.killNode(node)
      await new Promise(resolve => setTimeout(resolve, 2000))
      cluster.startNode(node)
      await new Promise(resolve => setTimeout(resolve, 3000))
    }
    isOver = true
    await writing
    await ns.close()
    const reopened = await connect(path, { storage, create: false })
    const same = await reopened.openTable('t')
    const ids = (await same.query().select(['id']).toArray()).map(row => Number(row.id))
    expect(new Set(ids).size).toBe(ids.length)
    expect(acknowledged.filter(id => !ids.includes(id))).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(20)
    console.log(
      `${acknowledged.length} commits acknowledged while three nodes were killed one after the other`,
    )
    expect((await reopened.verify()).problems).toEqual([])
    await reopened.close()
  })
})

test.runIf(program !== null && !isAllowed)('four nodes of MinIO are skipped', () => {
  console.log('stores: four nodes of MinIO skipped, because this process may not create network namespaces')
})
