import { expect, test } from 'vitest'
import { runBench } from '../../bench/harness.js'
import { bench } from '../../bench/query-exact.js'

test('the kernel and the plain loop find the same rows at the small size', async () => {
  const { cases } = await runBench(bench, 'small')
  expect(cases.map(({ title }) => title.replace(/,.*/, ''))).toEqual([
    ...new Array(3).fill('20000 x 64 f32'),
    ...new Array(3).fill('2000 x 784 u8'),
  ])
  for (const { entries } of cases) {
    expect(entries.map(entry => entry.name)).toEqual(['read', 'kernel', 'plain loop'])
    expect(entries[1]!.answer).toBe(entries[2]!.answer)
  }
})
