/**
 * Measures the cost of a commit in addition to the cost of the disk. Also shows that this cost does not grow with the
 * number of earlier commits.
 */
import { fork, spawnSync } from 'node:child_process'
import {
  closeSync,
  fdatasync,
  fsync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { catalogMachine } from '../src/catalog/apply.js'
import { Checkpoints } from '../src/commit/checkpoints.js'
import { Committer } from '../src/commit/committer.js'
import { TailedLog } from '../src/commit/tailed-log.js'
import { connect, type Namespace } from '../src/index.js'
import { systemClock } from '../src/primitives/clock.js'
import type { BlobStore } from '../src/storage/blob-store.js'
import { FileStore } from '../src/storage/file-store.js'
import { MemoryStore } from '../src/storage/memory-store.js'
import { CountingStore } from '../test/support/stores.js'
import {
  type Bench,
  type CaseResult,
  type Contestant,
  type Entry,
  hashOf,
  longestGap,
  race,
} from './harness.js'

interface Parameters {
  readonly rounds: number
  /**
   * The numbers of commits of each group in a new process, whose parts are measured. V8 compiles the code of commits
   * during the first groups.
   */
  readonly groups: readonly number[]
  /** The number of versions of the old table. */
  readonly versions: number
  /** Commits per round to the old table and to the young table. */
  readonly commits: number
  /** The number of commits of the root that is opened. */
  readonly rootCommits: number
  readonly tables: number
  /**
   * The number of processes that commit at the same time, and of commits of each process. Null: leave this case out,
   * because the processes need the built package.
   */
  readonly processes: { readonly count: number; readonly commits: number } | null
}

export const bench: Bench<Parameters> = {
  name: 'commit',
  question:
    'what does a commit cost in addition to the disk, and does the cost grow with the number of earlier commits?',
  small: {
    rounds: 3,
    groups: [5, 5],
    versions: 200,
    commits: 20,
    rootCommits: 300,
    tables: 200,
    processes: null,
  },
  full: {
    rounds: 300,
    groups: [1_000, 4_000, 1_000],
    versions: 10_000,
    commits: 1_000,
    rootCommits: 100_000,
    tables: 100_000,
    processes: { count: 8, commits: 200 },
  },
  async run(parameters) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      return [
        ...(await latency(join(folder, 'latency'), parameters)),
        parts(join(folder, 'parts-append'), 'append', parameters),
        parts(join(folder, 'parts-move'), 'move', parameters),
        ...(await growth(join(folder, 'growth'), parameters)),
        await opening(join(folder, 'opening'), parameters),
        ...(await memory(join(folder, 'memory'), parameters)),
        ...(parameters.processes === null ? [] : [await crowd(join(folder, 'crowd'), parameters.processes)]),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

// ---- latency: one commit, concurrent commits, a batch, and a check for new commits

async function latency(path: string, { rounds }: Parameters): Promise<CaseResult[]> {
  const ns = await tableOf(path, 2)
  await ns.operations.createTableTag({ id: ['t'], tag: 'prod', version: 1 })
  let moves = 0
  const move = () => ns.operations.updateTableTag({ id: ['t'], tag: 'prod', version: 1 + (moves++ % 2) })
  await move()
  mkdirSync(join(path, 'raw'))
  const bytes = readFileSync(join(path, '_log', readdirSync(join(path, '_log')).sort().at(-1)!))
  const callers = 8
  const each = 8
  let last = 2
  const version = () => versionOf(++last)
  const results = [
    await race({
      title: 'a tag move, on disk when it answers',
      contestants: [
        { name: 'create, sync, link, sync', run: () => writeDurably(path, bytes) },
        { name: 'updateTableTag', run: () => repeat(1, move) },
      ],
      rounds,
    }),
    await race({
      title: `${callers * each} tag moves`,
      contestants: [
        { name: 'one caller', run: () => repeat(callers * each, move) },
        {
          name: `${callers} callers`,
          run: async () => {
            await Promise.all(Array.from({ length: callers }, () => repeat(each, move)))
            return 0
          },
        },
      ],
      rounds: Math.ceil(rounds / 10),
    }),
    await race({
      title: 'version creations',
      contestants: [
        { name: 'one', run: () => repeat(1, () => ns.operations.createTableVersion(version())) },
        {
          name: 'a batch of 100',
          run: async () => {
            await ns.operations.batchCreateTableVersions({ entries: Array.from({ length: 100 }, version) })
            return 0
          },
        },
      ],
      rounds: Math.ceil(rounds / 5),
    }),
    await race({
      title: 'looking 1,000 times whether anything is new, when nothing is',
      contestants: [...(await idleLooks(path))],
      rounds: Math.ceil(rounds / 10),
    }),
  ]
  await ns.close()
  return results
}

/**
 * Write a file as the store writes a slot: the content is durable before the file gets its name, and then the name is
 * made durable.
 */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<number> {
  const folder = join(path, 'raw')
  const draft = join(folder, 'draft')
  const fd = openSync(draft, 'wx')
  writeSync(fd, bytes)
  await promisify(fdatasync)(fd)
  closeSync(fd)
  const folderFd = openSync(folder, 'r')
  linkSync(draft, join(folder, `${rawSlots++}`))
  unlinkSync(draft)
  await promisify(fsync)(folderFd)
  closeSync(folderFd)
  return 0
}

let rawSlots = 0

async function idleLooks(path: string): Promise<Contestant[]> {
  const { committer } = await openCommitter(path)
  const folder = join(path, '_log')
  // The file of the newest slot, or the tail that contains it.
  const newest = join(folder, readdirSync(folder).sort().at(-1)!)
  const next = join(folder, String(committer.head + 1).padStart(20, '0'))
  return [
    {
      name: 'two stats',
      run() {
        let found = 0
        for (let i = 0; i < 1000; i++) {
          for (const path of [next, newest])
            if (statSync(path, { throwIfNoEntry: false }) !== undefined) found++
        }
        return found
      },
    },
    {
      name: 'refresh',
      async run() {
        const before = committer.head
        for (let i = 0; i < 1000; i++) await committer.refresh()
        return 1000 + committer.head - before
      },
    },
  ]
}

// ---- the parts of a commit: CPU time, syncs, and compilation by V8

interface Parts {
  readonly milliseconds: number
  readonly cpuMs: number
  readonly syncMs: number
  readonly syncs: number
}

/**
 * Measure the parts of a commit in a new process. `compileShare` of a group: the share of its CPU time that the last
 * group does not need, because V8 has compiled and optimized the code of commits by then.
 */
function parts(path: string, kind: 'append' | 'move', { groups }: Parameters): CaseResult {
  const args = [resolve('bench/commit-parts.mjs'), path, kind, JSON.stringify(groups)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the process of ${kind} exited with the status ${status}: ${stderr}`)
  const means = JSON.parse(stdout) as readonly Parts[]
  const last = means.at(-1)!
  let first = 1
  const entries = means.map(({ milliseconds, cpuMs, syncMs, syncs }, i): Entry => {
    const name = `commits ${first} to ${first + groups[i]! - 1}`
    first += groups[i]!
    return {
      ...once(name, milliseconds),
      relativeTime: milliseconds / means[0]!.milliseconds,
      answer: hashOf(groups[i]!),
      figures: { cpuMs, syncMs, syncs, compileShare: Math.max(0, 1 - last.cpuMs / cpuMs) },
    }
  })
  const what = kind === 'append' ? 'a row appended' : 'a tag moved'
  return { title: `${what} in a new process, the mean of each group`, entries }
}

// ---- growth with the number of earlier commits

async function growth(path: string, { rounds, versions, commits }: Parameters): Promise<CaseResult[]> {
  const contestants: Contestant[] = []
  const written: { readonly store: CountingStore; commits: number }[] = []
  const roots: Namespace[] = []
  for (const from of [10, versions]) {
    const root = join(path, String(from))
    const store = new CountingStore(await FileStore.open(root, { create: true, readOnly: false }))
    const ns = await tableOf(root, from, store)
    const count = { store, commits: 0 }
    let last = from
    const run = () => {
      count.commits += commits
      return repeat(commits, () => createVersion(ns, ++last))
    }
    // Maintenance moves the first versions to a history page. Do this before the measurement, so that it is not
    // counted.
    await run()
    store.reset()
    count.commits = 0
    contestants.push({ name: `from version ${from} on`, run })
    written.push(count)
    roots.push(ns)
  }
  const few = Math.ceil(rounds / 60)
  const created = await race({
    title: `${commits} version creations, from an early and a late one`,
    contestants,
    rounds: few,
    warmups: 1,
  })
  for (const ns of roots) await ns.close()
  const perCommit = written.map(count => count.store.bytesWritten / count.commits)
  const entries = created.entries.map((entry, i): Entry => {
    return {
      ...entry,
      figures: { bytesPerCommit: perCommit[i]!, bytesToFirst: perCommit[i]! / perCommit[0]! },
    }
  })
  return [{ ...created, entries }, await listing(join(path, String(versions)), versions, rounds)]
}

async function listing(path: string, limit: number, rounds: number): Promise<CaseResult> {
  const ns = await connect(path)
  const list = async () => (await ns.operations.listTableVersions({ id: ['t'], limit })).versions
  const text = JSON.stringify(await list())
  const result = await race({
    title: `the records of ${limit} versions`,
    contestants: [
      { name: 'parsed from JSON', run: () => (JSON.parse(text) as unknown[]).length },
      { name: 'listTableVersions', run: async () => (await list()).length },
    ],
    rounds: Math.ceil(rounds / 10),
  })
  await ns.close()
  return result
}

async function opening(path: string, { rounds, rootCommits }: Parameters): Promise<CaseResult> {
  await makeRoot(path, async ns => {
    await ns.operations.declareTable({ id: ['t'] })
    for (const version of [1, 2]) await createVersion(ns, version)
    await ns.operations.createTableTag({ id: ['t'], tag: 'prod', version: 1 })
    for (let i = 4; i < rootCommits; i++) {
      await ns.operations.updateTableTag({ id: ['t'], tag: 'prod', version: 1 + (i % 2) })
    }
  })
  const names = () => readdirSync(join(path, '_log')).length
  const { newest } = await openCommitter(path)
  const result = await race({
    title: `opening a root of ${rootCommits} commits, a slot each`,
    contestants: [
      { name: 'the names of the slots', run: names },
      { name: 'connect', run: () => repeat(1, async () => (await connect(path)).close()) },
    ],
    rounds: Math.ceil(rounds / 30),
    warmups: 1,
  })
  const figures = { slotsAfterCheckpoint: names() - 1 - newest }
  return { ...result, entries: result.entries.map((entry, i) => (i === 0 ? entry : { ...entry, figures })) }
}

// ---- memory, and the event loop while a checkpoint is written

async function memory(path: string, { tables, versions }: Parameters): Promise<CaseResult[]> {
  const atOnce = 1000
  const manyTables = join(path, 'tables')
  await makeRoot(manyTables, async ns => {
    for (let first = 0; first < tables; first += atOnce) {
      const count = Math.min(atOnce, tables - first)
      const declare = (_: unknown, i: number) => ns.operations.declareTable({ id: [`table_${first + i}`] })
      await Promise.all(Array.from({ length: count }, declare))
    }
  })
  const manyVersions = join(path, 'versions')
  await makeRoot(manyVersions, async ns => {
    await ns.operations.declareTable({ id: ['t'] })
    for (let first = 1; first <= 10 * versions; first += atOnce) {
      const entry = (_: unknown, i: number) => versionOf(first + i)
      const count = Math.min(atOnce, 10 * versions - first + 1)
      await ns.operations.batchCreateTableVersions({ entries: Array.from({ length: count }, entry) })
    }
  })
  return [
    {
      title: 'heap of an open root',
      entries: [
        await heapOf(`${tables} tables`, manyTables, tables),
        await heapOf(`${10 * versions} versions`, manyVersions, 10 * versions),
      ],
    },
    { title: `a checkpoint of ${tables} tables`, entries: [await writeCheckpoint(manyTables)] },
  ]
}

async function heapOf(name: string, path: string, count: number): Promise<Entry> {
  const collect = garbageCollector()
  collect()
  const before = process.memoryUsage().heapUsed
  const started = performance.now()
  // Do not use `connect`, because its cache of slots has a fixed size and would hide the growth.
  const { committer } = await openCommitter(path)
  const milliseconds = performance.now() - started
  const { state } = committer
  collect()
  const bytesEach = (process.memoryUsage().heapUsed - before) / count
  const answer = hashOf(state.tables.size)
  return { ...once(name, milliseconds), answer, figures: { bytesEach } }
}

async function writeCheckpoint(path: string): Promise<Entry> {
  const { store, committer } = await openCommitter(path)
  const checkpoints = new Checkpoints(store, catalogMachine, systemClock)
  const gap = longestGap()
  const started = performance.now()
  const { bytes } = await checkpoints.write(committer.fold, 'bench')
  const milliseconds = performance.now() - started
  return { ...once('write', milliseconds), answer: hashOf(bytes), figures: { bytes, longestGapMs: gap() } }
}

function once(name: string, milliseconds: number): Omit<Entry, 'answer'> {
  return { name, milliseconds: { min: milliseconds, p50: milliseconds, p95: milliseconds }, relativeTime: 1 }
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

// ---- several processes

async function crowd(path: string, processes: { count: number; commits: number }): Promise<CaseResult> {
  const { count, commits } = processes
  const ns = await tableOf(path, 2)
  await ns.operations.createTableTag({ id: ['t'], tag: 'prod', version: 1 })
  await ns.close()
  const writers = Array.from({ length: count }, () =>
    fork(resolve('bench/commit-writer.mjs'), [path, String(commits)]),
  )
  const heard = (writer: (typeof writers)[number]) => {
    return new Promise<unknown>((resolve, reject) => {
      writer.once('message', resolve)
      writer.once('exit', code => reject(new Error(`a writer process exited with the status ${code}`)))
    })
  }
  await Promise.all(writers.map(heard))
  const answers = Promise.all(writers.map(heard))
  for (const writer of writers) writer.send('go')
  const each = (await answers) as { readonly times: number[]; readonly refused: number }[]
  const times = each.flatMap(({ times }) => times).sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))]!
  const refused = each.reduce((sum, answer) => sum + answer.refused, 0)
  const entry: Entry = {
    name: 'a tag move',
    milliseconds: { min: at(0), p50: at(0.5), p95: at(0.95) },
    relativeTime: 1,
    answer: hashOf(times.length),
    figures: { p99: at(0.99), longest: at(1), refused },
  }
  return { title: `${count} processes, ${commits} commits each, one root`, entries: [entry] }
}

// ---- roots

function versionOf(version: number) {
  return { id: ['t'], version, manifest_path: `x/v${version}` }
}

function createVersion(ns: Namespace, version: number): Promise<unknown> {
  return ns.operations.createTableVersion(versionOf(version))
}

/** Create a root with a table of `versions` versions. */
async function tableOf(path: string, versions: number, store?: BlobStore): Promise<Namespace> {
  const ns = await connect(path, store === undefined ? {} : { store })
  await ns.operations.declareTable({ id: ['t'] })
  for (let first = 1; first <= versions; first += 100) {
    const count = Math.min(100, versions - first + 1)
    const entries = Array.from({ length: count }, (_, i) => versionOf(first + i))
    await ns.operations.batchCreateTableVersions({ entries })
  }
  return ns
}

/** Create a root in memory and then write it to files, so that no commit waits for the disk. */
async function makeRoot(path: string, fill: (ns: Namespace) => Promise<void>): Promise<void> {
  const store = new MemoryStore()
  const ns = await connect(path, { store })
  await fill(ns)
  await ns.close()
  for await (const { key } of store.list('')) {
    mkdirSync(join(path, dirname(key)), { recursive: true })
    writeFileSync(join(path, key), (await store.get(key))!)
  }
}

async function openCommitter(path: string) {
  const store = await FileStore.open(path, { create: false, readOnly: false })
  const base = (await new Checkpoints(store, catalogMachine, systemClock).newest()) ?? undefined
  const options = { clock: systemClock, create: false, readOnly: false, base }
  const log = new TailedLog(store, { clock: systemClock, readOnly: false })
  const committer = await Committer.open(log, catalogMachine, options)
  return { store, committer, newest: base?.slot ?? 0 }
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < times; i++) await work()
  return 0
}
