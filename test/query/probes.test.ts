/** What of a filter scalar indexes can be asked. */
import { describe, expect, test } from 'vitest'
import type { DataType, Field } from '../../src/arrow/types.js'
import { type Probes, printProbes, splitFilter } from '../../src/query/probes.js'
import { bindFilter } from '../../src/sql/binding/bind.js'
import { printBound } from '../../src/sql/print.js'
import type { IndexReader } from '../../src/table/table-index.js'

const int: DataType = { kind: 'int', bits: 32, signed: true }
const utf8: DataType = { kind: 'utf8', large: false }
const list: DataType = { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } }
const field = (name: string, type: DataType): Field => ({ name, type, nullable: true })
const schema = {
  fields: [
    field('id', int),
    field('x', { kind: 'float', bits: 64 }),
    field('name', utf8),
    field('flag', { kind: 'bool' }),
    field('tags', list),
    field('s', { kind: 'struct', children: [field('n', int)] }),
    field('plain', int),
  ],
}
const index = (kind: IndexReader['kind'], ...path: string[]) =>
  ({ name: `${path.join('_')}_idx`, kind, path }) as unknown as IndexReader
const indexes = [
  index('BTREE', 'id'),
  index('BTREE', 'x'),
  index('BTREE', 'name'),
  index('BITMAP', 'flag'),
  index('LABEL_LIST', 'tags'),
  index('BTREE', 's', 'n'),
]

/** A tree of probes by what they ask, not by the text they came from. */
function shown(probes: Probes): string {
  switch (probes.kind) {
    case 'probe': {
      const { probe } = probes
      const name = probes.index.path.join('.')
      const values = (all: readonly unknown[]) => all.map(String).join(' ')
      if (probe.kind === 'null') return `${name} null`
      if (probe.kind !== 'range') return `${name} ${probe.kind} ${values(probe.values)}`
      const { low, high } = probe
      const from = low === null ? '(' : `${low.inclusive ? '[' : '('}${low.value}`
      const to = high === null ? ')' : `${high.value}${high.inclusive ? ']' : ')'}`
      return `${name} in ${from}, ${to}`
    }
    case 'less':
      return `${shown(probes.from)} less ${shown(probes.less)}`
    default:
      return probes.operands.length === 0
        ? 'nothing'
        : `${probes.kind}(${probes.operands.map(shown).join('; ')})`
  }
}

function apart(filter: string) {
  const { conjuncts, rest } = splitFilter(bindFilter(filter, schema).expr, indexes)
  const left = conjuncts.flatMap(conjunct => conjunct.left)
  return { probes: conjuncts.map(({ probes }) => shown(probes)), rest: [...rest, ...left].map(printBound) }
}

describe('answered by indexes alone', () => {
  test.each([
    ['id = 5', 'id members 5'],
    ['5 < id', 'id in (5, )'],
    ['id <> 5', 'id in (, ) less id members 5'],
    ['id BETWEEN 2 AND 9', 'id in [2, 9]'],
    ['id > 3 AND id < 9 AND id >= 4', 'id in [4, 9)'],
    ['id > 3 AND id < 3', 'nothing'],
    ['id IN (3, 1, NULL)', 'id members 3 1'],
    ['id NOT IN (3, 1)', 'id in (, ) less id members 3 1'],
    ['id IS NULL', 'id null'],
    ['id IS NOT NULL', 'id in (, )'],
    ['id IS DISTINCT FROM 5', 'or(id in (, ) less id members 5; id null)'],
    ['id IS NOT DISTINCT FROM 5', 'id members 5'],
    ['x >= 1', 'x in [1, )'],
    ['flag', 'flag members true'],
    ['NOT flag', 'flag in (, ) less flag members true'],
    ['flag = false', 'flag in (, ) less flag members true'],
    ['flag IS TRUE', 'flag members true'],
    ['flag IS NOT TRUE', 'or(flag in (, ) less flag members true; flag null)'],
    ['flag IS FALSE', 'flag in (, ) less flag members true'],
    ['flag IS NOT FALSE', 'or(flag members true; flag null)'],
    ['flag IS NULL', 'flag null'],
    ["name LIKE 'ab%'", 'name in [ab, ac)'],
    ["name LIKE 'ab'", 'name members ab'],
    ["name LIKE '%'", 'name in (, )'],
    ["name NOT LIKE 'ab%'", 'name in (, ) less name in [ab, ac)'],
    ["name LIKE '\\%a%'", 'name in [%a, %b)'],
    ["starts_with(name, 'é')", 'name in [é, ê)'],
    ["array_has(tags, 'a')", 'tags any a'],
    ["list_contains(tags, 'a')", 'tags any a'],
    ["array_has_any(tags, ['b', 'a', 'b', NULL])", 'tags any b a'],
    ["array_has_any(['b'], tags)", 'tags any b'],
    ["array_has_all(tags, ['b', 'a', 'b'])", 'tags all b a'],
    ["array_has_all(tags, ['b', NULL])", 'nothing'],
    ['s.n < 4', 's.n in (, 4)'],
    ['id = 1 OR x = 2', 'or(id members 1; x members 2)'],
    ['id = 1 AND x = 2 OR flag', 'or(flag members true; and(id members 1; x members 2))'],
    // No integer equals it, and all of them are on one side of it.
    ['id = 1.5', 'id in (, -2147483648)'],
    ['id < 1.5', 'id in (, 1]'],
  ])('%s', (filter, probes) => expect(apart(filter)).toEqual({ probes: [probes], rest: [] }))
})

describe('evaluated next to indexes', () => {
  test.each([
    ["name LIKE 'ab%c'", ['name in [ab, ac)'], ["name LIKE 'ab%c'"]],
    ["name LIKE 'ab_'", ['name in [ab, ac)'], ["name LIKE 'ab_'"]],
    ['id = 1 AND plain = 2', ['id members 1'], ['plain = 2']],
    ['id = 1 AND plain = 2 OR x = 3', ['or(x members 3; id members 1)'], ['x = 3.0 OR id = 1 AND plain = 2']],
    ['id = 1 AND x > 2 AND id + x > 3', ['id members 1', 'x in (2, )'], ['CAST(id AS double) + x > 3.0']],
  ])('%s', (filter, probes, rest) => expect(apart(filter)).toEqual({ probes, rest }))
})

test.each([
  'plain = 1',
  'id = 1 OR plain = 2',
  'id NOT IN (1, NULL) AND plain = 1',
  "name NOT LIKE 'ab%c'",
  "name ILIKE 'ab%'",
  "name LIKE '%ab'",
  "NOT array_has(tags, 'a')",
  'array_has_all(tags, [])',
  'tags IS NULL',
  'id = plain',
  'id + 1 = 2',
  '(id = 1 AND x = 2) IS NULL',
  '(id = 1 AND plain = 2) IS NOT TRUE',
  's IS NULL',
])('%s is for no index', filter => expect(apart(filter).probes).toEqual([]))

test('probes print as Lance prints them', () => {
  const { conjuncts } = splitFilter(
    bindFilter("id = 5 AND (flag OR name NOT LIKE 'a%')", schema).expr,
    indexes,
  )
  expect(conjuncts.map(({ probes }) => printProbes(probes))).toEqual([
    '[id = 5]@id_idx(BTREE)',
    "OR([flag]@flag_idx(BITMAP), [name NOT LIKE 'a%']@name_idx(BTREE))",
  ])
})
