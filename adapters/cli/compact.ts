/** Runs the command `sheaf compact`. */
import { connect, type Holder, type MaintenanceEvent, type Namespace } from '../../src/index.js'
import { formatId } from '../../src/protocol/identifiers.js'
import type { Call } from './arguments.js'
import { logOf } from './commit-log.js'
import { progressLine } from './progress.js'
import { showCount, showCounted, showSize, showTime } from './quantities.js'
import { untilStopped } from './stopping.js'

/**
 * Run all maintenance. Prints each compacted table, then a summary of the other work, on standard output. Shows
 * progress on standard error.
 */
export async function compactDirectory({
  directory,
  keepVersions,
  commitLog,
}: Call<'compact'>): Promise<void> {
  const signal = untilStopped()
  const line = progressLine()
  const done = new WorkDone()
  const ns = await connect(directory, {
    create: false,
    ...(await logOf(commitLog)),
    signal,
    maintenance: { ...(keepVersions !== undefined && { keepVersionsMs: keepVersions }) },
    onMaintenance(event) {
      done.note(event)
      line.show(`compacting: ${showCounted(done.tables.size, 'table')}; ${done.summary()}`)
    },
  })
  let held: readonly Holder[] = []
  try {
    line.show('compacting')
    held = (await ns.optimize({ signal })).held
  } finally {
    line.clear()
    // Print this even if the command was stopped or failed: completed work is not undone.
    for (const compacted of done.tables.values()) console.log(await describeCompacted(ns, compacted))
    console.log(done.summary())
    for (const holder of held) console.log(describeHolder(holder))
    await ns.close()
  }
}

interface Compacted {
  readonly table: readonly string[]
  /** Number of fragments before compaction, minus the number after it. */
  readonly fewer: number
  readonly rows: number
  readonly bytes: number
}

async function describeCompacted(
  { operations }: Namespace,
  { table, fewer, rows, bytes }: Compacted,
): Promise<string> {
  const written = `${showCounted(rows, 'row')}, ${showSize(bytes)} written`
  const stats = await operations.getTableStats({ id: table }).catch(() => null)
  // The table may have been dropped in the meantime.
  if (stats === null) return `${formatId(table)}: ${showCounted(fewer, 'fragment')} fewer; ${written}`
  const now = stats.fragment_stats.num_fragments
  return `${formatId(table)}: ${showCounted(now + fewer, 'fragment')}, now ${showCount(now)}; ${written}`
}

/** Describe a reader or job that prevents the deletion of old files. */
function describeHolder(holder: Holder): string {
  const stays = `files that existed at slot ${holder.slot} or later stay`
  if (holder.kind === 'job') return `${stays}: job ${holder.id} is ${holder.status.toLowerCase()}`
  const { file, process, stillMs } = holder
  const who = process === null ? 'another process' : `process ${process}`
  const still = stillMs > 0 ? `, without a heartbeat for ${showTime(stillMs)}` : ''
  return `${stays}: ${who} may read them (${file ?? 'this process'}${still})`
}

/** Adds up the work that maintenance reports. */
class WorkDone {
  /** Compacted tables by identifier. A large table is compacted in several rounds, which are added up. */
  readonly tables = new Map<string, Compacted>()
  readonly #sums = { indexed: 0, versions: 0, drops: 0, files: 0, bytes: 0, slots: 0, checkpoints: 0 }

  note(event: MaintenanceEvent): void {
    const sums = this.#sums
    switch (event.kind) {
      case 'compaction': {
        const { table } = event
        const before = this.tables.get(formatId(table)) ?? { table, fewer: 0, rows: 0, bytes: 0 }
        this.tables.set(formatId(table), {
          table,
          fewer: before.fewer + event.fragmentsBefore - event.fragmentsAfter,
          rows: before.rows + event.rows,
          bytes: before.bytes + event.bytes,
        })
        return
      }
      case 'indexed':
        sums.indexed += event.rows
        return
      case 'expired':
        sums.versions += event.versions
        return
      case 'drop':
        sums.drops++
        return
      case 'swept':
        sums.files += event.files
        sums.bytes += event.bytes
        return
      case 'trimmed':
        sums.slots += event.slots
        return
      case 'checkpoint':
        sums.checkpoints++
    }
  }

  /** Summarize all work except the compaction of tables. */
  summary(): string {
    const { indexed, versions, drops, files, bytes, slots, checkpoints } = this.#sums
    const parts = [
      indexed > 0 && `${showCounted(indexed, 'row')} indexed`,
      versions > 0 && `${showCounted(versions, 'version')} expired`,
      drops > 0 && `${showCounted(drops, 'dropped table')} emptied`,
      files > 0 && `${showCounted(files, 'file')} deleted, ${showSize(bytes)} reclaimed`,
      slots > 0 && `${showCounted(slots, 'slot')} of the log trimmed`,
      checkpoints > 0 && 'checkpoint written',
    ].filter(part => part !== false)
    if (parts.length > 0) return parts.join('; ')
    return this.tables.size > 0 ? 'nothing else to do' : 'nothing to do'
  }
}
