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

test('contestants run in turn, and who begins changes', async () => {
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
  await expect(race({ title: 't', contestants: [fickle], rounds: 2 })).rejects.toThrow('t: fickle answered')
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
  expect(error.mock.lastCall).toEqual(['no bench named other; there is n'])
  expect(process.exitCode).toBe(2)
  process.exitCode = undefined
  vi.restoreAllMocks()
})
