/**
 * Histories of concurrent calls to two nodes that are killed and started again. Porcupine, a checker in Go, judges whether
 * they are linearizable. `SHEAF_CAMPAIGN_HISTORIES`: the number of histories (default 3).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../../src/index.js'
import { randomFrom } from '../../support/clock.js'
import { minioProvider } from '../providers.js'
import { freePort, Server } from '../server.js'
import { buildChecker, checkHistory, createObjects, type RecordedCall, recordHistory } from './history.js'
import { ServingNode } from './processes.js'

const histories = Number(process.env.SHEAF_CAMPAIGN_HISTORIES ?? 3)
const random = randomFrom(Number(process.env.SHEAF_SEED ?? 1))
const folder = mkdtempSync(join(tmpdir(), 'sheaf-histories-'))
const source = resolve('test/stores/campaigns/linearizable')
const checker = buildChecker(source, join(folder, 'linearizable'))
afterAll(() => rmSync(folder, { recursive: true }))

test.runIf(checker === null)('histories are skipped', () => {
  console.log('stores: histories skipped, because their checker cannot be built with Go on this machine')
})

describe.runIf(checker !== null)('the checker', () => {
  const written: RecordedCall[] = [
    { object: 'red', name: 'set', argument: 1, caller: 0, called: 0, returned: 1, result: 1 },
    { object: 'red', name: 'set', argument: 2, caller: 1, called: 2, returned: 9, result: 1 },
  ]
  const reads = (...results: number[]): RecordedCall[] =>
    results.map((result, i) => {
      return {
        object: 'red',
        name: 'get',
        argument: 0,
        caller: 2,
        called: 3 + 2 * i,
        returned: 4 + 2 * i,
        result,
      }
    })

  test('accepts a write that takes effect between two reads', () => {
    expect(checkHistory(checker!, [...written, ...reads(1, 2)])).toBe('linearizable: 4 calls of 1 objects')
  })

  test('finds a read that is older than the read before it', () => {
    expect(checkHistory(checker!, [...written, ...reads(2, 1)])).toBe('Illegal red')
  })

  test('finds a row that is lost, and a version that is created twice', () => {
    const common = { object: 'x', argument: 1, caller: 0, result: 1 }
    const twice: RecordedCall[] = [
      { ...common, name: 'create', called: 0, returned: 1 },
      { ...common, name: 'create', called: 2, returned: 3 },
    ]
    expect(checkHistory(checker!, twice)).toBe('Illegal x')
    const lost: RecordedCall[] = [
      { ...common, name: 'add', called: 0, returned: 1 },
      { ...common, name: 'has', called: 2, returned: 3, result: 0 },
    ]
    expect(checkHistory(checker!, lost)).toBe('Illegal x')
  })
})

describe.runIf(checker !== null && minioProvider.program !== null)('two nodes over MinIO', () => {
  let server: Server
  beforeAll(async () => {
    server = await Server.start(minioProvider.program!)
    await minioProvider.createBucket(server.url)
  })
  afterAll(() => server?.stop())

  test.each(Array.from({ length: histories }, (_, i) => i))(
    'history %i is linearizable',
    async number => {
      const path = minioProvider.path(`histories/${number}`)
      const root = await connect(path, { storage: minioProvider.storage(server.url) })
      const first = await createObjects(root)
      await root.close()
      const nodes: ServingNode[] = []
      for (let i = 0; i < 2; i++) {
        const place = { host: '127.0.0.1', port: await freePort(), inNetwork: [] }
        nodes.push(new ServingNode(path, place, minioProvider.environment!(server.url)))
      }
      try {
        await Promise.all(nodes.map(node => node.start()))
        let isOver = false
        const killing = (async () => {
          while (!isOver) {
            const node = nodes[Math.floor(random() * nodes.length)]!
            await pause(500 + 500 * random())
            await node.kill()
            await node.start()
          }
        })()
        const urls = nodes.map(({ url }) => url)
        const calls = await recordHistory(urls, 8, 60, random).finally(() => {
          isOver = true
        })
        await killing
        const unknown = calls.filter(({ returned }) => returned === undefined).length
        console.log(`history ${number}: ${calls.length} calls, ${unknown} with unknown outcome`)
        expect(checkHistory(checker!, [...first, ...calls])).toMatch(/^linearizable: /)
        expect(calls.length - unknown).toBeGreaterThan(100)
      } finally {
        for (const node of nodes) await node.kill()
      }
    },
    120_000,
  )
})
