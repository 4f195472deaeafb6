/** UTF-8 has no bytes for half of a surrogate pair: no way in takes one, and none makes another text of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readCsv, readJsonLines } from '../../adapters/files/public.js'
import { connect, type Namespace, type Row, sql, type Table } from '../../src/index.js'
import { failure } from '../support/failure.js'

const half = '\ud83d'

let ns: Namespace
let table: Table

beforeEach(async () => {
  ns = await connect('memory://')
  table = await ns.createTable('t', [{ id: 1, text: 'whole 😀', labels: ['a'] }])
})
afterEach(() => ns.close())

const rows: Row[] = [
  { id: 2, text: 'b', labels: ['b'] },
  { id: 3, text: half, labels: ['b'] },
]

async function* file(text: string) {
  yield text
}

const texts = { kind: 'utf8', large: false } as const
const lists = { kind: 'list', large: false, child: { name: 'item', type: texts, nullable: true } } as const
const schema = { fields: [{ name: 'labels', type: lists, nullable: true }] }

describe('half of a surrogate pair is refused', () => {
  const ways: [string, () => Promise<unknown>, string][] = [
    ['createTable', () => ns.createTable('u', rows), 'row 1: column "text" holds half of a surrogate pair'],
    ['add', () => table.add(rows), 'row 1: column "text" holds half of a surrogate pair'],
    [
      'add of a list',
      () => table.add([{ id: 2, text: 'b', labels: ['b', half] }]),
      'row 0: column "labels[]" holds half of a surrogate pair',
    ],
    [
      'mergeInsert',
      () => table.mergeInsert('id').whenNotMatchedInsertAll().execute(rows),
      'row 1: column "text" holds half of a surrogate pair',
    ],
    ['update', () => table.update({ text: half }), 'column "text" holds half of a surrogate pair'],
    [
      'update by SQL',
      () => table.update({ text: sql`${half}` }),
      'parameter 1 holds half of a surrogate pair',
    ],
    [
      'where',
      () => table.query().where('text = ?', [half]).toArray(),
      'parameter 1 holds half of a surrogate pair',
    ],
    [
      'JSON lines',
      () => table.add(readJsonLines(file('{"id":2,"text":"\\ud83d"}\n'))),
      'row 0: column "text" holds half of a surrogate pair',
    ],
    [
      'JSON in CSV',
      () => ns.createTable('u', readCsv(file('labels\n"[""\\ud83d""]"\n'), { schema }), { schema }),
      'row 0: column "labels[]" holds half of a surrogate pair',
    ],
    [
      'a name of a column',
      () => ns.createTable('u', [{ [half]: 1 }]),
      'has half of a surrogate pair in its name',
    ],
    [
      'a name inside of a column',
      () => ns.createTable('u', [{ a: { [half]: 1 } }]),
      'has half of a surrogate pair in its name',
    ],
    [
      'properties',
      () => ns.createTable('u', [{ id: 1 }], { properties: { owner: half } }),
      'properties.owner has half of a surrogate pair',
    ],
  ]

  test.each(ways)('%s', async (_, call, message) => {
    const error = await failure(call())
    expect(error.message).toContain(message)
    expect([13, 20]).toContain(error.code)
    expect(error.hint).toMatch(/toWellFormed|rename/)
  })
})
