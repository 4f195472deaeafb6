/** Every bench runs at its small size, so that none rots. Answers are compared, times are not. */
import { expect, test } from 'vitest'
import { runBench } from '../../bench/harness.js'
import { bench as openCold } from '../../bench/open-cold.js'
import { bench as queryTable } from '../../bench/query-table.js'

test('query-table: the search finds what the kernel finds', async () => {
  const { cases } = await runBench(queryTable, 'small')
  const [kernel, search, filtered] = cases[0]!.entries
  expect(search!.answer).toBe(kernel!.answer)
  expect(filtered!.answer).not.toBe(kernel!.answer)
})

test('open-cold: joined and plain modules give the same first answer', async () => {
  for (const { entries } of (await runBench(openCold, 'small')).cases) {
    const [, , shipped, plain] = entries
    expect(shipped!.answer).toBe(plain!.answer)
    expect(shipped!.answer).not.toBe(entries[0]!.answer)
  }
})
