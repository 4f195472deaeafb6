/**
 * Campaigns against a root in object storage: nodes, servers and networks fail while it is written to. Nothing that was
 * acknowledged is lost, nothing is there twice, no transaction is torn. `SHEAF_CAMPAIGN_OPERATIONS`: the number of calls of
 * each campaign (default 400).
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPostgresLog } from '../../../adapters/postgres/public.js'
import { randomFrom } from '../../support/clock.js'
import { DroppingProxy } from '../dropping-proxy.js'
import { MinioCluster, mayCreateNetworks } from '../minio-cluster.js'
import { PostgresServer, postgresFolder } from '../postgres-server.js'
import { cephProvider, minioProvider, type Provider } from '../providers.js'
import { freePort, Server } from '../server.js'
import { runCampaign, type World } from './campaign.js'
import { type BankProcess, ServingNode } from './processes.js'

const operations = Number(process.env.SHEAF_CAMPAIGN_OPERATIONS ?? 400)
const callers = Math.round(Math.min(256, Math.max(32, operations / 50)))
const size = { operations, callers, banks: 2 }
const timeout = 120_000 + operations * 100
const random = randomFrom(Number(process.env.SHEAF_SEED ?? 1))
const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!

/**
 * A world whose nodes and banks reach the store at `url`, and whose judge reaches it at `direct`. `options`: further arguments
 * of the nodes.
 */
async function worldOf(
  provider: Provider,
  url: string,
  direct: string,
  prefix: string,
  trouble: World['trouble'],
  options: readonly string[] = [],
): Promise<World & { readonly nodes: ServingNode[] }> {
  const path = provider.path(prefix)
  const nodes: ServingNode[] = []
  for (let i = 0; i < 2; i++) {
    const place = { host: '127.0.0.1', port: await freePort(), inNetwork: [] }
    nodes.push(new ServingNode(path, place, provider.environment!(url), options))
  }
  return {
    path,
    open: async () => ({ storage: provider.storage(direct) }),
    bank: { path, storage: provider.storage(url) },
    nodes,
    trouble,
  }
}

describe.runIf(minioProvider.program !== null)('with MinIO', () => {
  let server: Server
  beforeAll(async () => {
    server = await Server.start(minioProvider.program!)
    await minioProvider.createBucket(server.url)
  })
  afterAll(() => server?.stop())

  test(
    'nodes and writers are killed',
    async () => {
      const world = await worldOf(minioProvider, server.url, server.url, 'killed', async banks => {
        const victim = pick<ServingNode | BankProcess>([...world.nodes, ...banks])
        await victim.kill()
        await pause(200 * random())
        await victim.start()
      })
      await runCampaign('nodes and writers killed', world, size)
    },
    timeout,
  )

  test(
    'one in ten replies of the bucket is lost',
    async () => {
      const proxy = await DroppingProxy.start(server.port)
      proxy.drops = () => random() < 0.1
      try {
        const world = await worldOf(minioProvider, proxy.url, server.url, 'replies', null)
        await runCampaign('replies lost', world, size)
        expect(proxy.dropped).toBeGreaterThan(operations / 100)
      } finally {
        await proxy.stop()
      }
    },
    timeout,
  )

  test(
    'the server is killed',
    async () => {
      const world = await worldOf(minioProvider, server.url, server.url, 'server', async () => {
        await server.kill()
        await pause(1000 * random())
        await server.run()
        await pause(500)
      })
      await runCampaign('server of the bucket killed', world, size)
    },
    timeout,
  )
})

test.runIf(cephProvider.program !== null)(
  'the gateway of Ceph is killed',
  async () => {
    const server = await Server.start(cephProvider.program!)
    try {
      await cephProvider.createBucket(server.url)
      const world = await worldOf(cephProvider, server.url, server.url, 'gateway', async () => {
        await pause(1000)
        await server.kill()
        await pause(1000 * random())
        await server.run()
      })
      await runCampaign('gateway of Ceph killed', world, size)
    } finally {
      await server.stop()
    }
  },
  timeout,
)

describe.runIf(minioProvider.program !== null && mayCreateNetworks())('with four nodes of MinIO', () => {
  let cluster: MinioCluster
  beforeAll(async () => {
    const { command, env } = minioProvider.program!
    cluster = await MinioCluster.start(command, env!)
    await minioProvider.createBucket(cluster.url)
  })
  afterAll(() => cluster?.stop())

  test(
    'one of the nodes of MinIO is killed, or cut off',
    async () => {
      const world = await worldOf(minioProvider, cluster.url, cluster.url, 'nodes', async () => {
        // The callers use the first node.
        const node = pick([2, 3, 4])
        if (random() < 0.5) {
          await cluster.killNode(node)
          await pause(1000 * random())
          cluster.startNode(node)
        } else {
          cluster.cutOff(node)
          await pause(2000 * random())
          cluster.reconnect(node)
        }
        await pause(2000)
      })
      await runCampaign('one of four nodes of MinIO killed or cut off', world, size)
    },
    timeout,
  )

  test(
    'a node of Sheaf is cut off from all others, and comes back',
    async () => {
      const environment = minioProvider.environment!(cluster.url)
      const path = minioProvider.path('hosts')
      const hosts = [11, 12, 13].map(host => ({ host, ...cluster.addHost(host) }))
      const nodes = hosts.map(({ address, inNetwork }) => {
        return new ServingNode(path, { host: address, port: 2333, inNetwork }, environment)
      })
      const storage = minioProvider.storage(cluster.url)
      await runCampaign(
        'one of three hosts cut off',
        {
          path,
          open: async () => ({ storage }),
          bank: { path, storage },
          nodes,
          async trouble() {
            const { host } = pick(hosts)
            cluster.cutOff(host)
            await pause(500 + 3000 * random())
            cluster.reconnect(host)
          },
        },
        size,
      )
    },
    timeout,
  )
})

test.runIf(minioProvider.program !== null && postgresFolder !== null)(
  'the PostgreSQL server with the log is killed',
  async () => {
    const server = await Server.start(minioProvider.program!)
    const postgres = await PostgresServer.start()
    try {
      await minioProvider.createBucket(server.url)
      const { host, port, user, database } = postgres.config
      const log = ['--commit-log', `postgres://${user}@${host}:${port}/${database}`]
      const trouble = async () => {
        await postgres.kill()
        await pause(500 * random())
        await postgres.run()
        await pause(1000)
      }
      const world = await worldOf(minioProvider, server.url, server.url, 'log', trouble, log)
      const open = async () => ({
        ...(await world.open()),
        log: await openPostgresLog({ config: { ...postgres.config, max: 3 } }),
      })
      await runCampaign(
        'PostgreSQL killed',
        { ...world, open, bank: { ...world.bank, postgres: postgres.config } },
        size,
      )
    } finally {
      await postgres.stop()
      await server.stop()
    }
  },
  timeout,
)
