/** What it takes to build an index, and to keep it. */
import type { CreateIndexOptions, Table } from '../src/index.js'
import { type Entry, longestGap } from './harness.js'

/** Builds one in the place of another. */
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

/** Watches the memory of the process; the function it gives ends that and tells by how many bytes it grew at most. */
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
