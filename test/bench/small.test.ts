/** Every bench runs at its small size, so that none rots. Answers are compared, times are not. */
import { expect, test } from 'vitest'
import { bench as bulk } from '../../bench/bulk.js'
import { bench as commit } from '../../bench/commit.js'
import { runBench } from '../../bench/harness.js'
import { bench as httpStream } from '../../bench/http-stream.js'
import { bench as indexBuild } from '../../bench/index-build.js'
import { bench as ingest } from '../../bench/ingest.js'
import { bench as manyTables } from '../../bench/many-tables.js'
import { bench as memory } from '../../bench/memory.js'
import { bench as mutate } from '../../bench/mutate.js'
import { bench as nodes } from '../../bench/nodes.js'
import { bench as openCold } from '../../bench/open-cold.js'
import { bench as queryFiltered } from '../../bench/query-filtered.js'
import { bench as querySql } from '../../bench/query-sql.js'
import { bench as queryTable } from '../../bench/query-table.js'
import { bench as queryText } from '../../bench/query-text.js'
import { bench as queryVector } from '../../bench/query-vector.js'
import { bench as readFiles } from '../../bench/read-files.js'
import { bench as spread } from '../../bench/spread.js'
import { bench as worker } from '../../bench/worker.js'

test('query-table: the search finds what the kernel finds', async () => {
  const { cases } = await runBench(queryTable, 'small')
  const [kernel, search, filtered] = cases[0]!.entries
  expect(search!.answer).toBe(kernel!.answer)
  expect(filtered!.answer).not.toBe(kernel!.answer)
})

test('query-sql: filters and plain loops find the same rows', async () => {
  const { cases } = await runBench(querySql, 'small')
  const races = cases.filter(({ entries }) => entries[0]!.name === 'plain loop')
  expect(races).toHaveLength(5)
  for (const { title, entries } of races) expect(entries[1]!.answer, title).toBe(entries[0]!.answer)
  const listed = cases.find(({ title }) => title.startsWith('id IN'))!.entries
  expect(listed[3]!.answer).toBe(listed[2]!.answer)
  for (const { figures } of cases.at(-1)!.entries) expect(figures!.longestGapMs).toBeGreaterThan(0)
})

test('query-vector, query-filtered, index-build: found rows are near, at any effort that guarantees recall', async () => {
  for (const bench of [queryVector, queryFiltered, indexBuild]) {
    const { cases } = await runBench(bench as typeof queryVector, 'small')
    const asked = cases
      .flatMap(({ entries }) => entries)
      .filter(({ figures }) => figures?.recall !== undefined)
    expect(asked.length).toBeGreaterThan(1)
    for (const { name, figures } of asked) expect(figures!.recall, name).toBeGreaterThan(0.89)
  }
})

test('open-cold: joined and plain modules give the same first answer', async () => {
  for (const { entries } of (await runBench(openCold, 'small')).cases) {
    const [, , shipped, plain] = entries
    expect(shipped!.answer).toBe(plain!.answer)
    expect(shipped!.answer).not.toBe(entries[0]!.answer)
  }
})

test('commit: everything asked about is committed, listed and opened', async () => {
  const { cases } = await runBench(commit, 'small')
  const titled = (part: string) => cases.find(({ title }) => title.includes(part))!.entries
  const [parsed, listed] = titled('records')
  expect(listed!.answer).toBe(parsed!.answer)
  const [looked, refreshed] = titled('looking')
  expect(refreshed!.answer).toBe(looked!.answer)
  for (const { figures } of titled('version creations, from'))
    expect(figures!.bytesPerCommit).toBeGreaterThan(100)
  for (const { figures } of titled('heap')) expect(figures!.bytesEach).toBeTypeOf('number')
  expect(titled('checkpoint')[0]!.figures!.bytes).toBeGreaterThan(1000)
})

test('ingest: every way to write rows writes all of them', async () => {
  const { cases } = await runBench(ingest, 'small')
  const [bytes, ...ways] = cases[0]!.entries
  for (const { answer, figures } of ways) {
    expect(answer).toBe(bytes!.answer)
    expect(figures!.longestGapMs).toBeGreaterThan(0)
  }
  expect(cases).toHaveLength(4)
})

test('mutate: one row and many are changed, in one fragment as in many', async () => {
  const { cases } = await runBench(mutate, 'small')
  expect(cases).toHaveLength(4)
  for (const { entries } of cases.slice(0, 2)) expect(entries[1]!.answer).toBe(entries[0]!.answer)
  for (const { title, entries } of cases) {
    if (title.includes('commits of one row')) continue
    for (const { figures } of entries) expect(figures!.longestGapMs).toBeGreaterThan(0)
  }
})

test('memory: each process tells its peak, and answers the same on a smaller heap', async () => {
  const [whole, smaller, changes, hits] = (await runBench(memory, 'small')).cases
  const answers = new Map(whole!.entries.map(({ name, answer }) => [name, answer]))
  for (const { name, answer } of smaller!.entries) expect(answer, name).toBe(answers.get(name))
  for (const { figures } of [...whole!.entries, ...changes!.entries]) {
    expect(figures!.peakMegabytes).toBeGreaterThan(10)
  }
  expect(new Set(hits!.entries.map(({ answer }) => answer)).size).toBe(1)
})

test('http-stream: everything is taken, and given back in either form', async () => {
  const [uploads, downloads] = (await runBench(httpStream, 'small')).cases
  expect(uploads!.entries).toHaveLength(2)
  for (const { name, figures } of uploads!.entries)
    expect(figures!.batchesMore, name).toBeGreaterThanOrEqual(0)
  expect(downloads!.entries).toHaveLength(3)
})

test('nodes: two nodes behind HAProxy answer as one does', async () => {
  const { cases } = await runBench(nodes, 'small')
  for (const { entries } of cases) {
    const [one, two] = entries
    expect(two!.answer).toBe(one!.answer)
    expect(two!.figures!.perSecond).toBeGreaterThan(0)
  }
})

test('bulk: slices are the whole, and several writers make one version', async () => {
  const { cases } = await runBench(bulk, 'small')
  expect(cases).toHaveLength(8)
  const [, lz4] = cases[5]!.entries
  expect(lz4!.figures!.percentOfBytes).toBeLessThan(80)
  for (const { name, figures } of cases.at(-1)!.entries) expect(figures!.versions, name).toBe(1)
})

test('query-text: without an index, and with some unindexed rows, the same rows are found', async () => {
  const { cases } = await runBench(queryText, 'small')
  const [indexed, positions, beside] = cases[2]!.entries
  expect(positions!.answer).toBe(indexed!.answer)
  expect(beside!.answer).not.toBe(indexed!.answer)
  const [few, scanned] = cases.at(-1)!.entries
  expect(scanned!.answer).toBe(few!.answer)
})

test('worker: the same rows directly, through one worker and through several', async () => {
  const { cases } = await runBench(worker, 'small')
  expect(cases).toHaveLength(5)
  for (const { title, entries } of cases) expect(entries[1]!.answer, title).toBe(entries[0]!.answer)
})

test('many-tables: the checkpoints of a root with many tables have at most four times the bytes of its log', async () => {
  const { cases } = await runBench(manyTables, 'small')
  const { checkpointsPerLog, checkpoints, parts } = cases[0]!.entries[0]!.figures!
  expect(checkpoints).toBeGreaterThan(5)
  expect(parts).toBeGreaterThan(1)
  expect(checkpointsPerLog).toBeLessThan(4)
})

test('spread: one server and two servers return the same rows', async () => {
  const { cases } = await runBench(spread, 'small')
  const { entries } = cases[0]!
  expect(entries.map(({ figures }) => figures!.parts)).toEqual([0, 2, 2])
  expect(new Set(entries.map(({ answer }) => answer)).size).toBe(1)
})

test('read-files: all rows are read and imported, and ten rows read few bytes', async () => {
  const [scans, imports, few] = (await runBench(readFiles, 'small')).cases
  const [bytes] = scans!.entries
  for (const { name, answer } of [...scans!.entries, ...imports!.entries])
    expect(answer, name).toBe(bytes!.answer)
  for (const { figures } of few!.entries) expect(figures!.kilobytesRead).toBeLessThan(500)
})
