/** Statements and what the runner cuts them into. */
import type { Select } from './statement.js'

const nothing = {
  distinct: false,
  outputs: [],
  from: null,
  where: null,
  groupBy: [],
  orderBy: [],
  limit: null,
  offset: 0,
}
const output = (expression: string, alias: string | null = null) => ({ expression, alias })
const table = (name: string) => ({ source: { kind: 'table' as const, name }, columns: null })

export const selectCases: readonly (readonly [string, Select])[] = [
  ['SELECT 1, round(2, 3) AS x', { ...nothing, outputs: [output('1'), output('round(2, 3)', 'x')] }],
  ['SELECT ALL + 3 col0', { ...nothing, outputs: [output('+ 3', 'col0')] }],
  ['SELECT CASE WHEN a THEN 1 END c', { ...nothing, outputs: [output('CASE WHEN a THEN 1 END', 'c')] }],
  ["SELECT interval '1' day", { ...nothing, outputs: [output("interval '1' day")] }],
  ['SELECT a IS NOT NULL', { ...nothing, outputs: [output('a IS NOT NULL')] }],
  ['SELECT 1::int unsigned', { ...nothing, outputs: [output('1::int unsigned')] }],
  ['SELECT a IS DISTINCT FROM b', { ...nothing, outputs: [output('a IS DISTINCT FROM b')] }],
  [
    'SELECT trim(BOTH FROM a) FROM t',
    { ...nothing, outputs: [output('trim(BOTH FROM a)')], from: table('t') },
  ],
  [
    'SELECT DISTINCT T.a, x.b.c, "B" FROM T AS x WHERE x."a" = "y"',
    {
      ...nothing,
      distinct: true,
      outputs: [output('a'), output('b.c'), output('`B`')],
      from: table('t'),
      where: '`a` = `y`',
    },
  ],
  [
    'SELECT *, count(*) FROM t GROUP BY a, 2 ORDER BY 1 DESC, b NULLS FIRST LIMIT 3 OFFSET 4;',
    {
      ...nothing,
      outputs: ['*', output('count(*)')],
      from: table('t'),
      groupBy: ['a', '2'],
      orderBy: [
        { expression: '1', ascending: false, nullsFirst: null },
        { expression: 'b', ascending: true, nullsFirst: true },
      ],
      limit: 3,
      offset: 4,
    },
  ],
  [
    'SELECT a & {b} FROM (VALUES (1, (2)), (3, NULL)) AS t(a, b)',
    {
      ...nothing,
      outputs: [output('a & {b}')],
      from: {
        source: {
          kind: 'values',
          rows: [
            ['1', '(2)'],
            ['3', 'NULL'],
          ],
        },
        columns: ['a', 'b'],
      },
    },
  ],
]

export const skipCases: readonly (readonly [string, string])[] = [
  ['SELECT 1 IN (SELECT a FROM t)', 'sub-query'],
  ['SELECT 1 IN t', 'sub-query'],
  ['SELECT 1 UNION SELECT 2', 'sub-query'],
  ['SELECT a FROM t, u', 'join'],
  ['SELECT a FROM t JOIN u ON t.a = u.a', 'join'],
  ['SELECT a FROM t GROUP BY a HAVING count(*) > 1', 'aggregate beyond'],
  ['EXPLAIN SELECT 1', 'EXPLAIN'],
  ['CREATE VIEW v AS SELECT 1', 'other DDL'],
  ['UPDATE t SET a = 1', 'update'],
  ['SELECT no_such_function(1)', 'function no_such_function'],
]
