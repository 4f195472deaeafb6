/**
 * Requests as nobody should send them, made from a seed. Most are almost right: what is wrong everywhere is refused by the
 * first who looks.
 */
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import fc from 'fast-check'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { int8, int16, int32, table, tables, text } from '../../../src/arrow/flatbuffer-write.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { seededRandom } from '../../../src/primitives/seeded-random.js'
import { type OperationEntry, operationNames, operations } from '../../../src/protocol/operations.js'
import { compressedStream, ipcMessage, lz4 } from '../../support/arrow-compressed.js'
import { arbitraryOf } from '../../support/shape-arbitrary.js'

/** What is sent on a connection. */
export interface Shot {
  readonly family: Family
  readonly bytes: Buffer
  readonly method: string
  /** Not a whole request: it has a connection of its own, of which the client ends its side. */
  readonly broken: boolean
  /** Nothing in it can be right. Elsewhere chance may make a request that is: a name encoded in another way, a bit of a value. */
  readonly hopeless: boolean
}

export type Family =
  | 'paths'
  | 'methods'
  | 'fields'
  | 'JSON'
  | 'queries'
  | 'SQL'
  | 'heads'
  | 'Arrow'
  | 'framing'
  | 'cut short'

interface Route {
  readonly method: string
  readonly path: string
  readonly entry: OperationEntry
  /** JSON bodies that are right. */
  readonly bodies: readonly unknown[]
}

const names = ['t', 'u', 'n', 'n$v', '$', 'nowhere', 'n$nowhere']
const oddNames = [
  '../../../etc/passwd', '..', '.', '%2e%2e%2f%2e%2e', '..%2f..%2fescape', '..%5c..%5cescape', '%00', 'a%00b', '%zz',
  '%', '%2', '%ff%fe', '%c0%ae%c0%ae', '%25', '%2525', '$$$', '%24%24', '__proto__', 'constructor', 'a%0d%0ax: y', '~', '*',
  '%F0%9F%92%A9', 'C:%5c', 'file:%2f%2fetc', '%EF%BB%BF', '%ED%A0%80', 'x'.repeat(3000), '%41'.repeat(900), ' ', '%20', '+', ';',
  "'", '"', '%7f', '_log', '_versions', 'con', 'aux.lance', '%E2%80%AE',
] // biome-ignore format: a list
const oddValues: readonly unknown[] = [
  null, true, false, 0, -1, 1, 1.5, -0.5, 1e308, 2 ** 31, 2 ** 53, -(2 ** 63), '', 'x', '\u0000', '\ud800', 'x'.repeat(5000), [], [[]],
  [null], [[[[]]]], {}, { a: {} }, { length: 1e9 }, { toString: null }, { __proto__: null, constructor: { prototype: { polluted: 1 } } },
  '../../escape', '/etc/passwd', 'file:///etc/passwd', '1'.repeat(400), [1, 'a', null], Array.from({ length: 300 }, (_, i) => i), 'NaN',
] // biome-ignore format: a list
const rawValues = [
  '1e400', '-1e400', '99999999999999999999999999', '-9223372036854775809', '18446744073709551616', '1e-400', '-0', '0x10', 'NaN', 'Infinity',
  '01', '1.', '.5', "'a'", '"\\ud800"', '"\\u0000"', '"\n"', '"\\x"', 'undefined', '/**/1', '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}', '{"a":1,"a":2}', '[1,]', '{,}', '"\\', `"${'y'.repeat(20_000)}"`, '9'.repeat(5000),
] // biome-ignore format: a list
const pieces = [
  'id', 'name', 'vector', '"id"', '`id`', 'nope', '1', '0', '-1', '1e400', "'a'", "''", '"', "'", '(', ')', '[', ']', '{', '}', ',', ';', '--', '/*', '*/',
  ' AND ', ' OR ', ' NOT ', ' IN ', ' IS NULL', ' BETWEEN ', ' LIKE ', ' CASE WHEN ', ' THEN ', ' END', ' = ', ' < ', ' >= ', ' + ', ' * ', ' / ', ' % ',
  '||', '::', '::int', 'cast(', ' as ', 'date ', 'interval ', 'lower(', 'regexp_match(', 'array_has(', 'count(*)', 'sum(', '\\', '\u0000', '\u202e', '💩',
  '9'.repeat(40), '.', '..', '*', '?', '$1', ':x', '0x', 'true', 'null', '_rowid', '_rowid IN (', "timestamp '", '-9223372036854775808', 'power(', '/0',
] // biome-ignore format: a list
const methods = [
  'GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'HEAD', 'PROPFIND', 'MKCOL', 'M-SEARCH', 'SEARCH', 'LINK', 'PURGE', 'QUERY', 'POST',
] // biome-ignore format: a list

const routes: readonly Route[] = operationNames.flatMap(name => {
  const entry: OperationEntry = operations[name]
  const bodies = entry.body === 'arrow' ? [] : fc.sample(arbitraryOf(entry.request), { numRuns: 6, seed: 1 })
  return entry.routes.map(route => {
    const [method, path] = route.split(' ') as [string, string]
    return { method, path, entry, bodies }
  })
})

const batch = rowsToBatch(
  Array.from({ length: 20 }, (_, id) => ({
    id,
    name: id % 3 === 0 ? null : `name ${id}`,
    vector: [id, 1, 2],
  })),
)
const dictionaries = tableFromArrays({ id: Int32Array.of(1, 2, 3), name: ['a', 'b', 'a'] })
const arrows: readonly Uint8Array[] = [
  concatChunks(encodeIpcStream(batch.schema, [batch])),
  concatChunks(encodeIpcStream(batch.schema, [batch, batch])),
  concatChunks(encodeIpcFile(batch.schema, [batch])),
  concatChunks(encodeIpcFile(batch.schema, [])),
  tableToIPC(dictionaries, 'stream'),
  tableToIPC(dictionaries, 'file'),
  compressedStream(batch),
]
/** Little that claims to be much, and what is written in ways that no writer has. */
const liars: readonly Uint8Array[] = [
  new Uint8Array(0),
  new Uint8Array(8),
  new Uint8Array(4096),
  Buffer.from('ARROW1'),
  Buffer.from('ARROW1\0\0'),
  Buffer.from('ARROW1\0\0ARROW1'),
  Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 127),
  ...[-5, 0, 1, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER].map(length =>
    compressedStream(batch, { ...lz4, length: () => length }),
  ),
  compressedStream(batch, { ...lz4, compress: () => new Uint8Array(64).fill(0x6d) }),
  compressedStream(batch, { codec: 1, compress: buffer => buffer, length: buffer => buffer.length }),
  compressedStream(batch, { codec: 7, compress: buffer => buffer, length: buffer => buffer.length }),
  compressedStream(rowsToBatch([{ id: 1, name: 'x'.repeat(4 << 20) }])),
  ipcMessage(
    1,
    table([int16(1), tables([table([text('id'), int8(1), int8(2), table([int32(64), int8(1)])])])]),
  ),
]

type Made = Omit<Shot, 'family' | 'hopeless'> & { readonly hopeless?: boolean }

export class Hostile {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  next(): Shot {
    const family = this.#of(families)
    const shot = this.#make(family)
    return { family, hopeless: false, ...shot }
  }

  #make(family: Family): Made {
    switch (family) {
      case 'paths':
        return this.#request(this.#route(), { path: this.#of(oddNames), body: this.#chance(0.5) ? '{}' : '' })
      case 'methods':
        return this.#request(this.#route(), {
          method: this.#of(methods),
          body: this.#chance(0.5) ? '{}' : '',
        })
      case 'fields': {
        const route = this.#withBodies()
        return this.#request(route, { body: JSON.stringify(this.#mutated(this.#of(route.bodies))) })
      }
      case 'JSON':
        return this.#request(this.#withBodies(), { body: this.#bomb() })
      case 'queries':
        return this.#request(this.#route(), { query: this.#query(), body: this.#chance(0.5) ? '{}' : '' })
      case 'SQL':
        return this.#sql()
      case 'heads':
        return this.#heads()
      case 'Arrow':
        return this.#arrow()
      case 'framing':
        return this.#badFrame()
      case 'cut short': {
        const whole = this.#chance(0.5)
          ? this.#arrow()
          : this.#request(this.#withBodies(), { body: this.#bomb() })
        return {
          ...whole,
          bytes: whole.bytes.subarray(0, this.#below(whole.bytes.length + 1)),
          broken: true,
          hopeless: false,
        }
      }
    }
  }

  /** A whole request. */
  #request(
    route: Route,
    {
      method = route.method,
      path,
      query = '',
      body = '',
      fields = '',
    }: {
      readonly method?: string
      readonly path?: string
      readonly query?: string
      readonly body?: string | Uint8Array
      readonly fields?: string
    },
  ): Made {
    const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body)
    const fill = () => path ?? (this.#chance(0.9) ? this.#of(names.slice(0, 4)) : this.#of(names))
    const slash = this.#chance(0.3) ? '/' : ''
    const target = route.path.replace(/\{\w+\}/g, fill) + slash + query
    const isSpaced = /[\s\u007f-\uffff]/.test(target)
    const type = fields.includes('content-type') ? '' : 'content-type: application/json\r\n'
    const head = `${method} ${target} HTTP/1.1\r\nhost: localhost\r\n${type}${fields}`
    const isHead = method === 'HEAD'
    if (this.#chance(0.8) || bytes.length === 0) {
      const framed = Buffer.concat([Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n`), bytes])
      return { bytes: framed, method, broken: isSpaced || isHead }
    }
    const cut = this.#below(bytes.length)
    const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length > 0)
    const framed = chunks.flatMap(chunk => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    ])
    return {
      bytes: Buffer.concat([
        Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`),
        ...framed,
        Buffer.from('0\r\n\r\n'),
      ]),
      method,
      broken: isSpaced || isHead,
    }
  }

  #route(): Route {
    return this.#of(routes)
  }

  #withBodies(): Route {
    for (;;) {
      const route = this.#route()
      if (route.bodies.length > 0) return route
    }
  }

  /** The value with something in it replaced, left out, or added. */
  #mutated(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || this.#chance(0.2)) return this.#of(oddValues)
    if (Array.isArray(value)) {
      if (value.length === 0) return [this.#of(oddValues)]
      const at = this.#below(value.length)
      return value.map((item, i) => (i === at ? this.#mutated(item) : item))
    }
    const entries = Object.entries(value)
    const at = this.#below(entries.length + 1)
    if (at === entries.length) {
      const key = this.#of([
        '__proto__',
        'constructor',
        'toString',
        'hasOwnProperty',
        'id',
        'version',
        'filter',
        '',
      ])
      return Object.fromEntries([...entries, [key, this.#of(oddValues)]])
    }
    if (this.#chance(0.2)) return Object.fromEntries(entries.filter((_, i) => i !== at))
    return Object.fromEntries(entries.map(([key, item], i) => [key, i === at ? this.#mutated(item) : item]))
  }

  #bomb(): string {
    const depth = 1 + this.#below(this.#chance(0.05) ? 60_000 : 300)
    const keys = [
      'filter',
      'id',
      'vector',
      'full_text_query',
      'columns',
      'properties',
      'version',
      'query',
      '__proto__',
    ]
    const key = this.#of(keys)
    switch (this.#below(7)) {
      case 0:
        return '['.repeat(depth)
      case 1:
        return `${`{"${key}":`.repeat(depth)}1${'}'.repeat(depth)}`
      case 2:
        return `{"${key}":${'['.repeat(depth)}${']'.repeat(depth)}}`
      case 3:
        return `{"${key}":${this.#of(rawValues)},"k":${this.#of(rawValues)}}`
      case 4:
        return `{"k":1,"filter":"true","${key}":${this.#of(rawValues)}}`
      case 5:
        return `{${Array.from({ length: 1 + this.#below(500) }, (_, i) => `"k${i}":${i}`).join(',')}}`
      default:
        return this.#of(rawValues)
    }
  }

  #query(): string {
    const keys = [
      'delimiter',
      'limit',
      'page_token',
      'version',
      'predicate',
      'mode',
      'on',
      'timeout',
      'properties',
      'descending',
      '__proto__',
      'branch',
    ]
    const values = [
      ...oddNames, '1', '0', '-1', '99999999999999999999', '1e3', 'true', 'null', '{"a":1}', '{"__proto__":1}', '[]', '~1.x', '~1.', 'append', '1s', '',
      ...pieces.map(encodeURIComponent),
    ] // biome-ignore format: a list
    const pairs = Array.from({ length: 1 + this.#below(4) }, () => `${this.#of(keys)}=${this.#of(values)}`)
    return `?${pairs.join(this.#chance(0.9) ? '&' : '?')}`.replaceAll(' ', '%20')
  }

  #sql(): Made {
    const deep = this.#chance(0.02)
      ? this.#of(['(', 'not ', '-', 'case when ', 'lower(', '[']).repeat(2000)
      : ''
    const sql = deep + Array.from({ length: 1 + this.#below(8) }, () => this.#of(pieces)).join('')
    const [operation, body] = this.#of<readonly [string, object]>([
      ['query', { k: 2, filter: sql }],
      ['query', { k: 2, filter: 'true', columns: { column_aliases: { x: sql } } }],
      ['query', { k: 2, full_text_query: { string_query: { query: sql } } }],
      ['query', { k: 2, filter: 'true', order_by: [{ column_name: sql, ascending: true }] }],
      ['count_rows', { predicate: sql }],
      ['explain_plan', { query: { k: 2, filter: sql } }],
      ['analyze_plan', { k: 2, vector: { single_vector: [1, 2, 3] }, filter: sql }],
      ['update', { predicate: `(${sql}) AND false`, updates: [['id', sql]] }],
      ['delete', { predicate: `(${sql}) AND id > 1000` }],
      ['add_columns', { new_columns: [{ name: sql, expression: sql }] }],
      ['alter_columns', { alterations: [{ path: sql, rename: sql }] }],
    ])
    const route = {
      method: 'POST',
      path: `/v1/table/{id}/${operation}`,
      entry: operations.queryTable,
      bodies: [],
    }
    return this.#request(route, { path: 't', body: JSON.stringify(body) })
  }

  #heads(): Made {
    const fields = this.#fields()
    const made = this.#request(this.#withBodies(), { body: '{}', fields })
    // What follows a wish to speak otherwise is not HTTP to a parser; who is told to wait for a word has said what comes next.
    return { ...made, broken: made.broken || /upgrade|expect/.test(fields) }
  }

  #fields(): string {
    const long = 'x'.repeat(this.#chance(0.1) ? 70_000 : 500)
    return this.#of([
      () => `x-long: ${long}\r\n`,
      () => Array.from({ length: 1 + this.#below(2500) }, (_, i) => `x${i}: 1\r\n`).join(''),
      () =>
        `content-type: ${this.#of(['text/plain', '', 'application/json;;', 'APPLICATION/JSON', 'a/b', '\x80', '"'])}\r\n`,
      () => `x-request-timeout-ms: ${this.#of(['0', '-1', '1', 'x', '99999999999999999', '1e9', ' '])}\r\n`,
      () => `x-request-id: ${this.#of(['', 'a', long.slice(0, 500), '\x80\xff', '__proto__'])}\r\n`,
      () => `content-encoding: ${this.#of(['gzip', 'identity', 'br', 'gzip, gzip', ',,'])}\r\n`,
      () => `authorization: ${this.#of(['Bearer', 'Bearer  ', 'Basic x', 'bearer \x80', long])}\r\n`,
      () => `x-sheaf-ctx-__proto__: 1\r\nx-sheaf-ctx-: 2\r\nx-sheaf-ctx-constructor: 3\r\n`,
      () => `expect: ${this.#of(['100-continue', 'the-best'])}\r\n`,
      () => `connection: upgrade\r\nupgrade: ${this.#of(['h2c', 'websocket', 'TLS/1.0'])}\r\n`,
      () => `accept: ${this.#of(['*/*', 'application/vnd.apache.arrow.stream', ',', long])}\r\n`,
      () => `x-sheaf-table: ${this.#of(['x', '../..', '00000000-0000-4000-8000-000000000000'])}\r\n`,
      () =>
        `cookie: ${long}\r\nrange: bytes=0-0,-1\r\nx-forwarded-host: a\r\nx-http-method-override: DELETE\r\n`,
    ])()
  }

  #arrow(): Made {
    const [operation, query] = this.#of([
      ['insert', ''], ['insert', '?mode=overwrite'], ['create', '?mode=overwrite'], ['create', ''], ['merge_insert', '?on=id&when_not_matched_insert_all=true'],
    ]) as [string, string] // biome-ignore format: a list
    const path = `/v1/table/{id}/${operation}`
    const route = { method: 'POST', path, entry: operations.insertIntoTable, bodies: [] }
    const hopeless = this.#chance(0.15)
    const body = hopeless ? this.#of(liars) : this.#damaged(this.#of(arrows))
    const fields = 'content-type: x/y\r\n'
    return { ...this.#request(route, { path: this.#of(['t', 'u']), query, body, fields }), hopeless }
  }

  #damaged(sound: Uint8Array): Uint8Array {
    const bytes = Buffer.from(sound)
    const words = [0, 1, -1, 4, 8, 0x7fffffff, -0x80000000, bytes.length, 0x10000000]
    switch (this.#below(6)) {
      case 0:
        return bytes.subarray(0, this.#below(bytes.length))
      case 1:
        for (let i = 1 + this.#below(8); i > 0; i--) bytes[this.#below(bytes.length)]! ^= 1 << this.#below(8)
        return bytes
      case 2:
        // Offsets and lengths, also such that lead back to where they came from.
        for (let i = 1 + this.#below(3); i > 0; i--)
          bytes.writeInt32LE(this.#of(words), 4 * this.#below((bytes.length - 3) / 4))
        return bytes
      case 3: {
        const from = this.#below(bytes.length)
        return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + this.#below(64))])
      }
      case 4: {
        const [from, to] = [this.#below(bytes.length), this.#below(bytes.length)]
        return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
      }
      default: {
        const at = 4 * this.#below((Math.min(bytes.length, 600) - 3) / 4)
        bytes.writeInt32LE(-4 * this.#below(40), at)
        return bytes
      }
    }
  }

  /** What is no HTTP, or two requests where one was announced: the second would drop the table that is looked at. */
  #badFrame(): Made {
    const line = 'POST /v1/table/t/exists HTTP/1.1\r\n'
    const host = 'host: localhost\r\n'
    const inner = 'POST /v1/table/kept/drop HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n'
    const head = line + host
    const hopeless = this.#chance(0.75)
    const text = hopeless
      ? this.#of([
          () => `${head}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd${inner}`,
          () => `${head}content-length: 3, 3\r\n\r\nabc${inner}`,
          () =>
            `${head}content-length: ${this.#of(['-1', '+1', '0x1', '1 1', '9'.repeat(30), '1e1'])}\r\n\r\n${inner}`,
          () => `${head}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
          () =>
            `${head}transfer-encoding: ${this.#of(['xchunked', 'chunked, identity', 'identity', 'chunked\x0b'])}\r\n\r\n0\r\n\r\n${inner}`,
          () => `${head}transfer-encoding: chunked\r\ntransfer-encoding: x\r\n\r\n0\r\n\r\n${inner}`,
          () =>
            `${line.replace('exists', 'insert')}${host}transfer-encoding: chunked\r\n\r\n${this.#of(['zz', '-1', '0x5', 'ffffffffffffffffff', ' 5'])}\r\nabcde\r\n0\r\n\r\n`,
          () =>
            `${line.replace('exists', 'insert')}${host}transfer-encoding: chunked\r\n\r\n5\r\nabcdefgh\r\n0\r\n\r\n${inner}`,
          () => `${line}${'host : sheaf'}\r\ncontent-length: 0\r\n\r\n${inner}`,
          () => `${head}a: b\x00c\r\ncontent-length: 0\r\n\r\n${inner}`,
          () => `${head}a\x00b: c\r\ncontent-length: 0\r\n\r\n${inner}`,
          () => `${head}no colon\r\n\r\n${inner}`,
          () => `CONNECT ${this.#of(['x:443', '/', '*'])} HTTP/1.1\r\n${host}\r\n${inner}`,
          () => `GET /v1/table HTTP/${this.#of(['9.9', 'x', '1.1 x'])}\r\n${host}\r\n`,
          () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
          () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc${'\x00'.repeat(40)}`,
          () =>
            `${this.#of(['FOO', 'post', 'P\x00ST', 'x'.repeat(9000)])} /v1/table/t/exists HTTP/1.1\r\n${host}\r\n${inner}`,
          () => `${line}content-length: 0\r\n\r\n`,
          () => `GET /${'x'.repeat(70_000)} HTTP/1.1\r\n${host}\r\n`,
        ])()
      : this.#of([
          () =>
            `POST ${this.#of(['http://x/v1/table/t/exists', 'x:80', '//x/y', '*', '?', '#', 'http://', 'ftp://x/y', '/\x80', '/a b'])} HTTP/1.1\r\n${host}content-length: 0\r\n\r\n`,
          () =>
            `${head}transfer-encoding: chunked\r\n\r\n5;${'e'.repeat(this.#of([10, 70_000]))}\r\nabcde\r\n0\r\n\r\n`,
          () =>
            `${head}transfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 5\r\n${'t: x\r\n'.repeat(this.#of([1, 20_000]))}\r\n`,
          () => `${head} folded: x\r\ncontent-length: 0\r\n\r\n`,
          () => `${head}content-length:\r\n\r\n`,
          () => `${head.replaceAll('\r\n', '\n')}content-length: 0\n\n`,
          () => `${head}: c\r\n\r\n`,
          () => `${head}a: b\rc: d\r\n\r\n`,
          () => `GET ${this.#of(['/v1/table', '/healthz'])}\r\n`,
          () => `GET /v1/table HTTP/${this.#of(['0.9', '1.0', '1.2', '2.0'])}\r\n${host}\r\n`,
          () => `${'\r\n'.repeat(this.#of([1, 5000]))}${head}content-length: 0\r\n\r\n`,
          () => Array.from({ length: 200 }, () => String.fromCharCode(this.#below(256))).join(''),
          () => `${line}${host}${host}content-length: 0\r\n\r\n`,
          () => `${head}expect: 100-continue\r\ncontent-length: 9999999999\r\n\r\n`,
          () => `${head}upgrade: h2c\r\nconnection: upgrade, http2-settings\r\ncontent-length: 0\r\n\r\n`,
        ])()
    return { bytes: Buffer.from(text, 'latin1'), method: 'POST', broken: true, hopeless }
  }

  #of<T>(values: readonly T[]): T {
    return values[this.#below(values.length)]!
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }
}

/** Each as often as it stands here. */
const families: readonly Family[] = [
  'paths', 'methods', 'fields', 'fields', 'fields', 'JSON', 'JSON', 'queries', 'SQL', 'SQL', 'SQL', 'heads', 'Arrow', 'Arrow', 'Arrow', 'framing',
  'cut short',
] // biome-ignore format: a list
