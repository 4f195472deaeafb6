/** Values have the JavaScript types that the documentation of `schema` lists, and its text cites no internal rule or file. */
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { connect, schema } from '../../src/index.js'

const ns = await connect('memory://schema-values')
afterAll(() => ns.close())

const day = new Date('2026-01-02')
const moment = new Date('2026-01-02T03:04:05Z')
const micros = 1_767_323_045_000_001n

test.each<[type: string, written: unknown, read: unknown]>([
  ['bool', true, true],
  ['int32', 1, 1],
  ['int64', 1n, 1],
  ['uint64', 1, 1],
  ['float16', 0.5, 0.5],
  ['decimal(10, 2)', 1.5, '1.50'],
  ['string', 'a', 'a'],
  ['binary', new Uint8Array([1]), new Uint8Array([1])],
  ['binary(1)', new Uint8Array([1]), new Uint8Array([1])],
  ['date', '2026-01-02', day],
  ['timestamp', moment, moment],
  ['timestamp(s)', moment, moment],
  ['timestamp(us, UTC)', moment, moment],
  ['timestamp(us)', micros, micros],
  ['time', '00:00:01', 1000],
  ['time(s)', '00:00:01', 1],
  ['time(us)', '00:00:01', 1_000_000],
  ['duration(us)', 5, 5],
  ['vector(2)', [1, 2], new Float32Array([1, 2])],
  ['vector(2, float16)', [1, 2], new Float32Array([1, 2])],
  ['vector(2, int8)', [1, 2], new Int8Array([1, 2])],
  ['string[]', ['a', null], ['a', null]],
  ['string![]', ['a'], ['a']],
  ['map(string, int64)', { a: 1 }, [['a', 1]]],
])('a value of the type %s', async (type, written, read) => {
  const columns = schema({ v: type })
  const table = await ns.createTable('t', [{ v: written }] as never, { schema: columns, mode: 'overwrite' })
  expect(await table.query().toArray()).toEqual([{ v: read }])
})

test('64-bit integers are bigints on request', async () => {
  const columns = schema({ v: 'int64', u: 'uint64', d: 'duration' })
  const table = await ns.createTable('t', [{ v: 1, u: 2, d: 3 }], { schema: columns, mode: 'overwrite' })
  expect(await table.query().toArray({ int64: 'bigint' })).toEqual([{ v: 1n, u: 2n, d: 3n }])
})

test('documentation that the package ships cites no rules and no files of the project', () => {
  const folders = ['src/client', 'adapters/files']
  const files = [
    ...folders.flatMap(folder =>
      readdirSync(folder, { recursive: true })
        .filter(name => `${name}`.endsWith('.ts'))
        .map(name => `${folder}/${name}`),
    ),
    ...[
      'src/index.ts',
      'adapters/worker/client.ts',
      'src/errors.ts',
      'src/sql/syntax/tag.ts',
      'src/sql/syntax/sql-fragment.ts',
    ],
    ...['client', 'gate', 'options', 'databases', 'jwt', 'public'].map(name => `adapters/http/${name}.ts`),
  ]
  const cited = files.flatMap(path =>
    [...readFileSync(path, 'utf8').matchAll(/\(rule |\b[AS]-\d{3}\b|\(see [\w/-]+\.ts\)/g)].map(
      ([text]) => `${path}: ${text}`,
    ),
  )
  expect(cited).toEqual([])
})
