/** Tables that make LanceDB use each layout and encoding of its files. */
import type { Batch } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Field } from '../../src/arrow/types.js'

/** A table and the versions of the file format that can store it. */
export interface LanceCase {
  readonly name: string
  readonly versions: readonly string[]
  readonly batch: Batch
}

const newer = ['2.1', '2.2']
const all = ['2.0', ...newer]

const text: DataType = { kind: 'utf8', large: false }
const binary: DataType = { kind: 'binary', large: false }
const float32: DataType = { kind: 'float', bits: 32 }
const float64: DataType = { kind: 'float', bits: 64 }
const int32: DataType = { kind: 'int', bits: 32, signed: true }
const int64: DataType = { kind: 'int', bits: 64, signed: true }

function field(name: string, type: DataType, metadata?: Record<string, string>, nullable = true): Field {
  return { name, type, nullable, ...(metadata !== undefined && { metadata }) }
}
const item = (type: DataType, nullable = true): Field => ({ name: 'item', type, nullable })
const list = (type: DataType): DataType => ({ kind: 'list', large: false, child: item(type) })
const struct = (...children: Field[]): DataType => ({ kind: 'struct', children })
const vector = (size: number, nullable = false): DataType => ({
  kind: 'fixed_size_list',
  size,
  child: item(float32, nullable),
})

/** A deterministic sequence of integers from 0 to 2^31 - 1. */
function noise(i: number): number {
  let x = (i + 1) * 0x9e3779b1
  x = Math.imul(x ^ (x >>> 15), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 1
}

/** Make a table. `columns`: by field, the value of each row. `nulls`: every n-th row is null; 0: none. */
function table(
  name: string,
  versions: readonly string[],
  rows: number,
  columns: readonly (readonly [Field, (i: number) => unknown, number?])[],
): LanceCase {
  const objects = Array.from({ length: rows }, (_, i) =>
    Object.fromEntries(
      columns.map(([{ name: column }, make, nulls = 5]) => [
        column,
        nulls > 0 && i % nulls === nulls - 1 ? null : make(i),
      ]),
    ),
  )
  return { name, versions, batch: rowsToBatch(objects, { fields: columns.map(([of]) => of) }) }
}

const words = (i: number) =>
  Array.from({ length: 3 + (i % 5) }, (_, j) => `word${noise(i + j) % 40}`).join(' ')
const some = (size: number, make: (j: number) => unknown) =>
  Array.from({ length: size }, (_, j) => (j % 4 === 2 ? null : make(j)))

const units = ['s', 'ms', 'us', 'ns'] as const

/** All flat types with and without nulls. */
function flatTypes(): LanceCase {
  const types: [string, DataType, (i: number) => unknown][] = [
    ['bool', { kind: 'bool' }, i => noise(i) % 3 === 0],
    ...([8, 16, 32] as const).flatMap(bits =>
      [true, false].map((signed): [string, DataType, (i: number) => unknown] => [
        `${signed ? '' : 'u'}int${bits}`,
        { kind: 'int', bits, signed },
        i => (signed && i % 2 ? -1 : 1) * (noise(i) % 2 ** (bits - 1)),
      ]),
    ),
    ['int64', int64, i => BigInt(noise(i)) * BigInt(noise(i + 1))],
    ['uint64', { kind: 'int', bits: 64, signed: false }, i => BigInt(noise(i))],
    ['float16', { kind: 'float', bits: 16 }, i => (i % 100) / 4],
    ['float32', float32, i => noise(i) / 2 ** 20],
    ['float64', float64, i => noise(i) / 2 ** 20],
    ['text', text, words],
    ['large_text', { kind: 'utf8', large: true }, words],
    ['bytes', binary, i => new Uint8Array(i % 9).fill(i)],
    ['large_bytes', { kind: 'binary', large: true }, i => new Uint8Array(i % 9).fill(i)],
    ['fixed', { kind: 'fixed_size_binary', width: 5 }, i => new Uint8Array(5).fill(i)],
    ['decimal128', { kind: 'decimal', bits: 128, precision: 30, scale: 2 }, i => `${noise(i)}.25`],
    ['decimal256', { kind: 'decimal', bits: 256, precision: 60, scale: 3 }, i => `${noise(i)}.125`],
    ['day', { kind: 'date', unit: 'day' }, i => new Date(86_400_000 * i)],
    ['date', { kind: 'date', unit: 'ms' }, i => new Date(86_400_000 * i)],
    ['zoned', { kind: 'timestamp', unit: 'us', timezone: 'Europe/Paris' }, i => new Date(1000 * i)],
    ...units.flatMap((unit): [string, DataType, (i: number) => unknown][] => [
      [`timestamp_${unit}`, { kind: 'timestamp', unit, timezone: null }, i => new Date(1000 * noise(i))],
      [`duration_${unit}`, { kind: 'duration', unit }, i => noise(i)],
      [`time_${unit}`, { kind: 'time', unit }, i => i],
    ]),
    ['null', { kind: 'null' }, () => null],
  ]
  return table(
    'flat',
    all,
    60,
    types.map(([name, type, make], i) => [field(name, type), make, [0, 3, 7][i % 3]!] as const),
  )
}

/** Lists, structs and vectors, with nulls at all depths. */
function nested(): LanceCase {
  return table('nested', newer, 100, [
    [field('list', list(int32)), i => some(i % 6, j => i + j)],
    [field('texts', list(text)), i => some(i % 4, j => `t${i}-${j}`)],
    [
      field('deep', list(list(list(int32)))),
      i => some(i % 3, j => some((i + j) % 4, k => some(k, l => i + l))),
    ],
    [
      field(
        'struct',
        struct(field('a', int32), field('b', struct(field('c', text), field('d', list(int32))))),
      ),
      i => ({ a: i % 7 ? i : null, b: i % 11 ? { c: `c${i}`, d: i % 2 ? null : [i, i + 1] } : null }),
    ],
    [
      field('structs', list(struct(field('x', int32), field('y', list(text))))),
      i => some(i % 4, j => ({ x: i, y: j === 1 ? null : some(j, k => `${i}/${k}`) })),
    ],
    [field('vector', vector(4)), i => [i, 1, 2, 3]],
    [field('gaps', vector(3, true)), i => [i, i % 2 ? null : 2, 3]],
    [field('vectors', list(vector(2))), i => some(i % 3, j => [i, j])],
    [field('full', list(int32)), i => [i, i + 1], 0],
  ])
}

/** Lists, structs and vectors as version 2.0 can store them: structs are never null. */
function plainNested(): LanceCase {
  return table('plain-nested', ['2.0'], 60, [
    [field('list', list(int32)), i => some(i % 6, j => i + j)],
    [field('texts', list(text)), i => some(i % 4, j => `t${i}-${j}`)],
    [field('deep', list(list(int32))), i => some(i % 3, j => some((i + j) % 4, k => i + k))],
    [
      field('struct', struct(field('a', int32), field('b', list(text)))),
      i => ({ a: i % 7 ? i : null, b: i % 2 ? null : ['x', words(i)] }),
      0,
    ],
    [
      field('structs', list(struct(field('x', int32), field('y', text)))),
      i => Array.from({ length: i % 4 }, (_, j) => ({ x: i, y: j === 1 ? null : `${i}` })),
    ],
    [field('vector', vector(4)), i => [i, 1, 2, 3]],
    [field('full', vector(40), undefined, false), i => Array.from({ length: 40 }, (_, j) => i + j), 0],
    [field('small', int64), i => noise(i) % 1000],
    [field('positive', { kind: 'int', bits: 32, signed: false }), i => noise(i) % 1000, 0],
    [field('few', text), i => `category ${noise(i) % 5}`],
    [field('same_length', text, undefined, false), i => `${100000 + i}`, 0],
    [field('nothing', text), () => null],
  ])
}

/** Values of at least 256 bytes, and smaller values for which the metadata asks for the same layout. */
function large(): LanceCase {
  const zip = { 'lance-encoding:structural-encoding': 'fullzip' }
  return table('large', newer, 12, [
    [field('vector', vector(65), undefined, false), i => Array.from({ length: 65 }, (_, j) => i + j), 0],
    [field('vector_nulls', vector(65)), i => Array.from({ length: 65 }, (_, j) => i * j)],
    [
      field('item_nulls', vector(66, true)),
      i => Array.from({ length: 66 }, (_, j) => (j % 9 === i % 9 ? null : j)),
    ],
    [field('vectors', list(vector(65))), i => some(i % 3, () => Array.from({ length: 65 }, (_, j) => i + j))],
    [field('zipped', text, zip), words],
    [field('zipped_list', list(text), zip), i => some(i % 4, j => words(i + j))],
    [field('zipped_full', text, zip, false), words, 0],
    [field('long_text', text), i => words(i).repeat(12 + (i % 5))],
  ])
}

/** Values of at least 32 KiB, which are compressed one by one. */
function huge(): LanceCase {
  return table('huge', newer, 6, [
    [field('bytes', binary), i => new Uint8Array(40_000 + i).fill(i)],
    [field('text', text), i => words(i).repeat(1500), 0],
    [
      field('zstd', binary, { 'lance-encoding:compression': 'zstd' }),
      i => new Uint8Array(33_000 + i).map((_, j) => j % (i + 3)),
      0,
    ],
  ])
}

/** Numbers and text that are compressed well. */
function compressed(): LanceCase {
  const meta = (compression: string, more: Record<string, string> = {}) => ({
    'lance-encoding:compression': compression,
    ...more,
  })
  return table('compressed', newer, 2100, [
    [field('runs', int32, undefined, false), i => Math.floor(i / 300), 0],
    [field('runs_nulls', int64), i => Math.floor(i / 90), 11],
    [field('few', text), i => `category ${noise(i) % 5}`],
    [field('small', int64), i => noise(i) % 1000],
    [field('small16', { kind: 'int', bits: 16, signed: false }), i => noise(i) % 50, 0],
    [field('small8', { kind: 'int', bits: 8, signed: false }), i => noise(i) % 5, 0],
    [field('split', float32, meta('lz4', { 'lance-encoding:bss': 'on' })), i => i / 8],
    [field('split64', float64, meta('zstd', { 'lance-encoding:bss': 'on' })), i => i / 8, 0],
    [field('lz4', int32, meta('lz4')), i => (noise(Math.floor(i / 9)) % 7) * 1e6],
    [field('zstd', text, meta('zstd')), i => `the same beginning of ${i % 300}`],
  ])
}

/** Text that is long enough for FSST. */
function texts(): LanceCase {
  return table('texts', all, 800, [
    [field('text', text, { 'lance-encoding:compression': 'fsst' }), i => `${words(i)} ${noise(i)}`],
    [field('full', text, undefined, false), i => `row ${i}: ${words(i)}`, 0],
  ])
}

/** Pages with one value, or only nulls. */
function constant(): LanceCase {
  return table('constant', newer, 50, [
    [field('number', int32), () => 7],
    [field('full', int64), () => 12345678901n, 0],
    [field('flag', { kind: 'bool' }), () => true],
    [field('text', text), () => 'the same text'],
    [field('list', list(int32)), i => some(i % 3, () => 5)],
    [field('nothing', text), () => null],
    [field('no_numbers', int32), () => null],
    [field('no_lists', list(int32)), i => (i % 2 ? [] : null)],
    [field('no_structs', struct(field('a', int32), field('b', text))), () => null],
    [field('null_items', list(int32)), () => [null, null]],
    [field('no_vectors', vector(3)), () => null],
  ])
}

/** Columns with a dictionary type. */
function dictionaries(): LanceCase {
  const dictionary = (value: DataType, bits: 8 | 16 | 32): DataType => ({
    kind: 'dictionary',
    index: { kind: 'int', bits, signed: true },
    value,
    ordered: false,
  })
  return table('dictionaries', all, 400, [
    [field('text', dictionary(text, 8)), i => `value ${noise(i) % 9}`],
    [field('full', dictionary(text, 32)), i => `value ${noise(i) % 100}`, 0],
  ])
}

/** Structs whose rows are stored together. */
function packed(): LanceCase {
  const meta = { 'lance-encoding:packed': 'true' }
  return table('packed', all, 200, [
    [
      field(
        'fixed',
        struct(field('a', int32, undefined, false), field('b', float64, undefined, false)),
        meta,
        false,
      ),
      i => ({ a: i, b: i / 2 }),
      0,
    ],
  ])
}

/** Structs with text whose rows are stored together. */
function packedTexts(): LanceCase {
  const meta = { 'lance-encoding:packed': 'true' }
  return table('packed-texts', ['2.2'], 200, [
    [
      field(
        'mixed',
        struct(field('a', int32, undefined, false), field('b', text, undefined, false)),
        meta,
        false,
      ),
      i => ({ a: i, b: words(i) }),
      0,
    ],
  ])
}

/** Values that are stored outside of their pages. */
function blobs(): LanceCase {
  const blob = { 'lance-encoding:blob': 'true' }
  return table('blobs', ['2.1'], 30, [
    [field('blob', { kind: 'binary', large: true }, blob), i => new Uint8Array(i % 4 ? i * 11 : 0).fill(i)],
    [field('full', { kind: 'binary', large: true }, blob), i => new Uint8Array(i + 1).fill(i), 0],
  ])
}

/** Types that version 2.2 added. */
function maps(): LanceCase {
  const entries = (key: DataType, value: DataType): DataType => ({
    kind: 'map',
    keysSorted: false,
    child: {
      name: 'entries',
      nullable: false,
      type: struct(
        { name: 'key', type: key, nullable: false },
        { name: 'value', type: value, nullable: true },
      ),
    },
  })
  return table('maps', ['2.2'], 250, [
    [
      field('map', entries(text, int32)),
      i => Array.from({ length: i % 4 }, (_, j) => [`k${j}`, j === 2 ? null : i]),
    ],
    [
      field('lists', entries(int32, list(text))),
      i => Array.from({ length: i % 3 }, (_, j) => [j, some(j + 2, words)]),
    ],
  ])
}

/** Structs in lists of a fixed size. LanceDB cannot read them together with other columns. */
function fixedStructs(): LanceCase {
  return table('fixed-structs', ['2.2'], 100, [
    [
      field('points', {
        kind: 'fixed_size_list',
        size: 3,
        child: item(struct(field('x', int32), field('y', text))),
      }),
      i => [{ x: i, y: 'a' }, null, { x: null, y: `${i}` }],
    ],
  ])
}

/** Return all tables. */
export function lanceCases(): LanceCase[] {
  return [
    flatTypes(),
    nested(),
    plainNested(),
    large(),
    huge(),
    compressed(),
    texts(),
    constant(),
    dictionaries(),
    packed(),
    packedTexts(),
    blobs(),
    maps(),
    fixedStructs(),
  ]
}
