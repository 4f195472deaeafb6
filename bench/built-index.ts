/** Measures the build of an index and the size of the index. */
import type { CreateIndexOptions, Table } from '../src/index.js'
import { type Entry, longestGap } from './harness.js'

/** Build an index, which replaces an existing one. Returns time, CPU time, size and memory as an entry of a report. */
export async function builtIndex(
  table: Table,
  column: string,
  title: string,
  options: CreateIndexOptions,
): Promise<Entry> {
  const gap = longestGap()
  const rss = peakMemory()
  const begun = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  const { name } = await table.createIndex(column, { ...options, replace: true })
  await table.waitForIndex(name)
  const took = Number(process.hrtime.bigint() - begun) / 1e6
  const { user, system } = process.cpuUsage(cpu)
  const longestGapMs = gap()
  const peakBytes = rss()
  const { recall } = await table.indexStats(name)
  const { bytes } = (await table.listIndices()).find(index => index.name === name)!
  return {
    name: title,
    milliseconds: { min: took, p50: took, p95: took },
    relativeTime: 1,
    answer: title,
    figures: {
      cpuSeconds: (user + system) / 1e6,
      megabytes: bytes / 1e6,
      bytesEach: bytes / (await table.countRows()),
      longestGapMs,
      peakMegabytes: peakBytes / 1e6,
      ...(recall !== undefined && { estimatedRecall: recall }),
    },
  }
}

/**
 * Start to sample the memory of the process. Returns a function that stops this and returns by how many bytes the
 * memory grew at most.
 */
function peakMemory(): () => number {
  const before = process.memoryUsage.rss()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 50)
  return () => {
    clearInterval(timer)
    return most - before
  }
}
