/**
 * Measures what checkpoints cost in a root with many tables: the bytes that are written for each byte of the log, and the
 * time until the root is open. Files are in memory, so times are those of the processor.
 *
 * | figure | meaning |
 * |---|---|
 * | logBytes, checkpointBytes, pageBytes | bytes of the slots, checkpoints and history pages of the measured commits |
 * | checkpointsPerLog | checkpointBytes / logBytes |
 * | checkpoints | number of checkpoints that were written for the measured commits |
 * | parts | number of files that the newest checkpoint consists of |
 * | stalledMs | longest time for which the event loop did not run other work |
 */
import { catalogMachine } from '../src/catalog/apply.js'
import { Checkpoints } from '../src/commit/checkpoints.js'
import { connect } from '../src/index.js'
import { systemClock } from '../src/primitives/clock.js'
import { MemoryStore } from '../src/storage/memory-store.js'
import { type Bench, type CaseResult, type Entry, hashOf, longestGap, race, timesOf } from './harness.js'
import { seededRandom } from './random.js'

interface Parameters {
  readonly tables: number
  /** Number of appends of one row, each to a random table. */
  readonly commits: number
  readonly rounds: number
}

/** A store in memory that counts the bytes of new blobs by the first folder of their keys. */
class WrittenStore extends MemoryStore {
  readonly bytes = new Map<string, number>()
  readonly counts = new Map<string, number>()

  override putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    const folder = key.slice(0, key.indexOf('/'))
    this.bytes.set(folder, (this.bytes.get(folder) ?? 0) + bytes.length)
    this.counts.set(folder, (this.counts.get(folder) ?? 0) + 1)
    return super.putIfAbsent(key, bytes, signal)
  }
}

/** Number of tables that are created at the same time. */
const atOnce = 500

export const bench: Bench<Parameters> = {
  name: 'many-tables',
  question:
    'how many bytes do checkpoints have for each byte of the log, and how long does it take to open many tables?',
  small: { tables: 400, commits: 700, rounds: 1 },
  full: { tables: 20_000, commits: 20_000, rounds: 7 },
  async run({ tables, commits, rounds }) {
    const store = new WrittenStore('memory://')
    const committed = await commitRows(store, tables, commits)
    const opening = async (): Promise<string> => {
      const ns = await connect('memory://', { store, readOnly: true })
      const names = await ns.tableNames()
      await ns.close()
      return hashOf(names.length)
    }
    const opened = await race({
      title: `opening ${tables} tables`,
      contestants: [{ name: 'open and list', run: opening }],
      rounds,
    })
    const title = `${commits} appends of one row to one of ${tables} tables`
    const cases: readonly CaseResult[] = [{ title, entries: [committed] }, opened]
    return cases
  },
}

async function commitRows(store: WrittenStore, tables: number, commits: number): Promise<Entry> {
  const ns = await connect('memory://', { store, maintenance: { compact: false } })
  try {
    for (let first = 0; first < tables; first += atOnce) {
      const count = Math.min(atOnce, tables - first)
      await Promise.all(
        Array.from({ length: count }, (_, i) => ns.createTable(`t${first + i}`, [{ id: 0, name: 'a' }])),
      )
    }
    await ns.optimize()
    const before = new Map(store.bytes)
    const checkpointsBefore = store.counts.get('_ckpt') ?? 0
    const random = seededRandom(3)
    const times = new Float64Array(commits)
    const gap = longestGap()
    for (let i = 0; i < commits; i++) {
      const table = await ns.openTable(`t${Math.floor(random() * tables)}`)
      const begun = performance.now()
      await table.add([{ id: i, name: 'another' }])
      times[i] = performance.now() - begun
    }
    const stalledMs = gap()
    const bytesOf = (folder: string) => (store.bytes.get(folder) ?? 0) - (before.get(folder) ?? 0)
    const newest = await new Checkpoints(store, catalogMachine, systemClock).newestNote()
    return {
      name: 'append',
      milliseconds: timesOf(times),
      relativeTime: 1,
      answer: hashOf(commits),
      figures: {
        logBytes: bytesOf('_log'),
        checkpointBytes: bytesOf('_ckpt'),
        pageBytes: bytesOf('_hist'),
        checkpointsPerLog: bytesOf('_ckpt') / bytesOf('_log'),
        checkpoints: (store.counts.get('_ckpt') ?? 0) - checkpointsBefore,
        parts: (newest?.parts.length ?? -1) + 1,
        stalledMs,
      },
    }
  } finally {
    await ns.close()
  }
}
