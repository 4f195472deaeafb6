import { expect, test, vi } from 'vitest'
import {
  askBenches,
  type Bench,
  type Contestant,
  formatReport,
  hashOf,
  named,
  race,
  runBench,
} from '../../bench/harness.js'

test('contestants run in turn, and the first one changes', async () => {
  const order: string[] = []
  const contestant = (name: string): Contestant => ({
    name,
    run() {
      order.push(name)
      return 1
    },
  })
  await race({ title: 't', contestants: [contestant('a'), contestant('b')], rounds: 2, warmups: 1 })
  expect(order.join('')).toBe('abbaab')
})

test('a race tells times in order, throughput, and equal hashes for equal answers', async () => {
  const contestants = [
    { name: 'array', run: () => Uint8Array.of(1, 2) },
    { name: 'promise', run: async () => Uint8Array.of(1, 2) },
    { name: 'other', run: () => Uint8Array.of(2, 1) },
  ]
  const { entries } = await race({ title: 't', contestants, rounds: 5, bytes: 1e6 })
  expect(entries.map(entry => entry.name)).toEqual(['array', 'promise', 'other'])
  expect(entries[0]!.answer).toBe(entries[1]!.answer)
  expect(entries[0]!.answer).not.toBe(entries[2]!.answer)
  expect(entries[0]!.relativeTime).toBe(1)
  for (const { milliseconds, gigabytesPerSecond } of entries) {
    expect(milliseconds.min).toBeLessThanOrEqual(milliseconds.p50)
    expect(milliseconds.p50).toBeLessThanOrEqual(milliseconds.p95)
    expect(gigabytesPerSecond).toBeCloseTo(1 / milliseconds.p50, 6)
  }
})

test('a contestant whose answer changes ends the race', async () => {
  let calls = 0
  const fickle = { name: 'fickle', run: () => calls++ }
  await expect(race({ title: 't', contestants: [fickle], rounds: 2 })).rejects.toThrow(
    't: the answer of fickle changed',
  )
})

test('the callback after each run follows it, and times can be printed whole and next to a limit', async () => {
  const order: string[] = []
  const first = {
    name: 'first',
    run: () => order.push('run') > 0,
    after: () => {
      order.push('after')
    },
  }
  const limit = { name: 'limit', run: () => true }
  const result = await race({
    title: 't',
    contestants: [first, limit],
    rounds: 2,
    warmups: 1,
    limit: 'limit',
    distribution: true,
  })
  expect(order.join(' ')).toBe('run after run after run after')
  expect(result.limit).toBe('limit')
  const [line] = result.lines!.lines
  expect(line!.points[0]).toEqual([0, result.entries[0]!.milliseconds.min])
  expect(line!.points.at(-1)![0]).toBe(1)
})

test('answers are hashed by content', () => {
  expect(hashOf(Float32Array.of(1, 2))).toBe(hashOf(Float32Array.of(0, 1, 2).subarray(1)))
  expect(hashOf([1, 2])).not.toBe(hashOf([2, 1]))
  expect(hashOf([1, 2])).not.toBe(hashOf([12]))
  expect(hashOf({ a: 1 })).toMatch(/^[0-9a-f]{12}$/)
})

test('a report names the machine, the parameters, and every entry with its figures', async () => {
  const bench: Bench<{ rows: number }> = {
    name: 'query-nothing',
    question: 'how long does nothing take?',
    small: { rows: 3 },
    full: { rows: 3000 },
    run: async ({ rows }) => [
      {
        title: 'nothing',
        entries: [
          {
            name: 'us',
            milliseconds: { min: 1, p50: 20, p95: 300 },
            relativeTime: 1,
            answer: 'cafe',
            figures: { recall: rows / 4 },
          },
        ],
      },
    ],
  }
  const report = await runBench(bench, 'small')
  expect(report.parameters).toEqual({ rows: 3 })
  const text = formatReport(report)
  expect(text).toContain('query-nothing: how long does nothing take?')
  expect(text).toContain(process.version)
  expect(text).toContain('{"rows":3}')
  expect(text).toMatch(/us .* 1\.00 +20\.0 +300 +1\.00 {2}cafe {2}recall 0\.750/)
  const [nothing] = report.cases
  const least = { ...nothing!.entries[0]!, name: 'least', milliseconds: { min: 5, p50: 5, p95: 5 } }
  const limited = { ...nothing!, limit: 'least', entries: [...nothing!.entries, least] }
  const beside = formatReport({ ...report, versions: { other: '1.2.3' }, cases: [limited] })
  expect(beside).toContain('other 1.2.3')
  expect(beside).toMatch(/us .* 1\.00 +4\.00 {2}cafe/)
})

test('the command line lists what there is, and knows a name that is none', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue()
  const error = vi.spyOn(console, 'error').mockReturnValue()
  const bench = named({ name: 'n', question: 'q?', small: 1, full: 2, run: async () => [] })
  await askBenches([bench], [])
  expect(log.mock.lastCall).toEqual(['n: q?'])
  await askBenches([bench], ['n', '--json'])
  expect(JSON.parse(log.mock.lastCall![0])).toMatchObject({ bench: 'n', parameters: 1, cases: [] })
  await askBenches([bench], ['n', '--json', '--full'])
  expect(JSON.parse(log.mock.lastCall![0])).toMatchObject({ parameters: 2 })
  await askBenches([bench], ['other'])
  expect(error.mock.lastCall).toEqual(['the bench other does not exist. Benches: n'])
  expect(process.exitCode).toBe(2)
  process.exitCode = undefined
  vi.restoreAllMocks()
})
