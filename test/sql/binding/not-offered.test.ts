/** What other dialects have and this one has not is refused, with what to write instead. */
import { expect, test } from 'vitest'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { parseArrowType } from '../../../src/sql/values/arrow-type.js'

const fields = [
  { name: 'l', type: parseArrowType('List(Int64)')!, nullable: true },
  { name: 'i', type: parseArrowType('Int64')!, nullable: true },
  { name: 't', type: parseArrowType('Timestamp(Microsecond, None)')!, nullable: true },
]

test.each([
  ['i & 1.5 = 1', 20, 'write integer & integer'],
  ['i || l', 20, 'write text || text, or list || list'],
  ['l && [1]', 13, 'write AND; for lists write array_has_any(list, list)'],
  ['l @> 1', 20, 'write array_has_all(list, list)'],
  ['array_has([l], [1])', 20, 'write array_has(list, element)'],
  ["date_bin('15 minutes', t)", 20, "write date_bin(INTERVAL '15 minutes', timestamp)"],
  ["TIMESTAMPTZ '2026-01-01'", 13, 'did you mean TIMESTAMP?'],
  ["i AT TIME ZONE 'UTC'", 20, "write timestamp AT TIME ZONE 'Europe/Berlin'"],
  ['t AT TIME ZONE i', 13, "write timestamp AT TIME ZONE 'Europe/Berlin'"],
  ["t AT TIME ZONE 'Mars'", 13, "zones are named like 'Europe/Berlin'"],
  ['EXTRACT("year" FROM t)', 13, 'write EXTRACT(YEAR FROM x)'],
  ['percentile_cont(i, 0.9)', 13, 'write percentile(x, 0.9)'],
  ['APPROX_COUNT_DISTINCT(i)', 13, 'write count(DISTINCT x), which is exact'],
  ['medain(i)', 13, 'did you mean median?'],
  ['(1, 2) = (1, 2)', 13, 'write a list as [1, 2]'],
] as const)('%s', (text, code, hint) => {
  expect(() => bindExpression(parseExpression(text), { fields })).toThrow(
    expect.objectContaining({ code, hint: expect.stringContaining(hint) }),
  )
})
