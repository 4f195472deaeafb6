/** Concurrent calls to several nodes, recorded with their times, for a checker of linearizability. */
import { spawnSync } from 'node:child_process'
import { connectHttp } from '../../../adapters/http/client.js'
import type { Namespace } from '../../../src/index.js'
import { isTransient } from './callers.js'

/** A call, as `linearizable/main.go` reads it. Times are in microseconds. */
export interface RecordedCall {
  readonly object: string
  readonly name: 'add' | 'has' | 'set' | 'get' | 'create' | 'newest'
  readonly argument: number
  readonly caller: number
  readonly called: number
  /** Absent if the outcome is unknown. */
  readonly returned?: number
  readonly result?: number
}

const tags = ['red', 'green']
const tables = ['model_0', 'model_1']
const versions = 5

/** Create the objects. Returns the calls that gave them their first states. */
export async function createObjects(ns: Namespace): Promise<RecordedCall[]> {
  const table = await ns.createTable('t', [{ key: 'none' }])
  while ((await table.version()) < versions) await table.add([{ key: 'none' }])
  for (const tag of tags) await table.tags.create(tag, 1)
  for (const name of tables) await ns.operations.declareTable({ id: [name] })
  return tags.map(tag => {
    return { object: tag, name: 'set', argument: 1, caller: 0, called: -2, returned: -1, result: 1 }
  })
}

/** Let `callers` make `count` calls each at random nodes. Returns the calls in the order of their ends. */
export async function recordHistory(
  urls: readonly string[],
  callers: number,
  count: number,
  random: () => number,
): Promise<RecordedCall[]> {
  const nodes = urls.map(url => connectHttp(url, { timeoutMs: 20_000 }))
  const calls: RecordedCall[] = []
  const start = performance.now()
  const now = () => Math.round((performance.now() - start) * 1000)
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!
  let keys = 0
  /** `newest`: the newest version that the caller has seen, by table. */
  const call = async (caller: number, newest: Map<string, number>) => {
    const node = pick(nodes)
    const { object, name, argument, run } = pick([
      () => addKey(`key-${keys++}`),
      () => hasKey(`key-${Math.max(0, keys - 1 - Math.floor(random() * 4))}`),
      () => setTag(pick(tags), 1 + Math.floor(random() * versions)),
      () => getTag(pick(tags)),
      () => createVersion(pick(tables), newest),
      () => newestVersion(pick(tables), newest),
    ])()
    const begun = { object, name, argument, caller, called: now() }
    try {
      const result = await run(node)
      calls.push({ ...begun, returned: now(), result })
    } catch (error) {
      if (!isTransient(error)) throw error
      // A read without an answer says nothing.
      if (['add', 'set', 'create'].includes(name)) calls.push(begun)
    }
  }
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const newest = new Map<string, number>()
      for (let i = 0; i < count; i++) await call(caller, newest)
    }),
  )
  for (const node of nodes) await node.close()
  return calls
}

interface Planned extends Pick<RecordedCall, 'object' | 'name' | 'argument'> {
  readonly run: (ns: Namespace) => Promise<number>
}

function addKey(key: string): Planned {
  const run = async (ns: Namespace) => {
    await (await ns.openTable('t')).add([{ key }])
    return 1
  }
  return { object: key, name: 'add', argument: 0, run }
}

function hasKey(key: string): Planned {
  const run = async (ns: Namespace) => (await ns.openTable('t')).countRows(`key = '${key}'`)
  return { object: key, name: 'has', argument: 0, run }
}

function setTag(tag: string, version: number): Planned {
  const run = async (ns: Namespace) => {
    await (await ns.openTable('t')).tags.update(tag, version)
    return 1
  }
  return { object: tag, name: 'set', argument: version, run }
}

function getTag(tag: string): Planned {
  const run = async (ns: Namespace) => (await ns.openTable('t')).tags.version(tag)
  return { object: tag, name: 'get', argument: 0, run }
}

/** Create the version after the newest one that the caller has seen. Its result is 0 if the version exists. */
function createVersion(table: string, newest: Map<string, number>): Planned {
  const version = (newest.get(table) ?? 0) + 1
  const run = async ({ operations }: Namespace) => {
    newest.set(table, version)
    try {
      await operations.createTableVersion({ id: [table], version, manifest_path: `elsewhere/${version}` })
      return 1
    } catch (error) {
      if ((error as Error).name !== 'ConcurrentModification') throw error
      return 0
    }
  }
  return { object: table, name: 'create', argument: version, run }
}

function newestVersion(table: string, newest: Map<string, number>): Planned {
  const run = async ({ operations }: Namespace) => {
    const reply = await operations.listTableVersions({ id: [table], descending: true, limit: 1 })
    const version = reply.versions[0]?.version ?? 0
    newest.set(table, Math.max(newest.get(table) ?? 0, version))
    return version
  }
  return { object: table, name: 'newest', argument: 0, run }
}

/** Build the checker with Go. Returns null if that is not possible here. */
export function buildChecker(source: string, target: string): string | null {
  const { status } = spawnSync('go', ['build', '-o', target, '.'], { cwd: source, stdio: 'ignore' })
  return status === 0 ? target : null
}

/** Judge a history. Returns the line that the checker prints. */
export function checkHistory(checker: string, calls: readonly RecordedCall[]): string {
  const input = calls.map(call => JSON.stringify(call)).join('\n')
  return spawnSync(checker, { input, encoding: 'utf8' }).stdout.trim()
}
