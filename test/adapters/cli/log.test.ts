import { expect, test } from 'vitest'
import { type LogFormat, requestLogger } from '../../../adapters/cli/log.js'
import type { RequestRecord } from '../../../adapters/http/options.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'

const at = '2026-01-02T03:04:05.678Z'

function logged(format: LogFormat, record: object, secrets: readonly string[] = []): string {
  const lines: string[] = []
  const clock = { now: () => Date.parse(at) }
  const log = requestLogger({ format, write: line => lines.push(line), secrets, clock })
  log({ method: 'POST', path: '/v1/table/t/query', status: 200, ...record } as unknown as RequestRecord)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[^\n]+\n$/)
  return lines[0]!.slice(0, -1)
}

test('a line of text begins with the most important fields, and has all fields of the record', () => {
  expect(logged('text', {})).toBe(`${at} 200 POST /v1/table/t/query`)
  const record = {
    operation: 'queryTable',
    durationMs: 12.34,
    bytesIn: 45,
    bytesOut: 1_234_567,
    principal: 'ann lee',
    database: undefined,
    id: ['ns', 't'],
    context: { tenant: 'a' },
  }
  expect(logged('text', record)).toBe(
    `${at} 200 POST /v1/table/t/query operation=queryTable durationMs=12ms bytesIn=45B bytesOut=1.2MB principal="ann lee" id="[\\"ns\\",\\"t\\"]" context="{\\"tenant\\":\\"a\\"}"`,
  )
})

test('a line of JSON has the record as it is', () => {
  const record = {
    durationMs: 12.34,
    bytesIn: 10n,
    id: ['t'],
    context: { tenant: 'a' },
    operation: undefined,
  }
  expect(JSON.parse(logged('json', record))).toEqual({
    time: at,
    method: 'POST',
    path: '/v1/table/t/query',
    status: 200,
    durationMs: 12.34,
    bytesIn: '10',
    id: ['t'],
    context: { tenant: 'a' },
  })
})

test('an error is logged with its cause, and with its stack if it is unexpected', () => {
  const cause = new TypeError('x is not a function')
  const error = new SheafError(ErrorCode.Internal, 'this is a bug', { hint: 'report it', cause })
  const { error: described } = JSON.parse(logged('json', { status: 500, error }))
  expect(described).toMatchObject({
    code: 18,
    message: 'this is a bug',
    hint: 'report it',
    cause: { name: 'TypeError', message: 'x is not a function', stack: expect.stringContaining('log.test') },
  })
  expect(described).not.toHaveProperty('stack')
  expect(logged('text', { status: 500, error })).toContain(
    'error="this is a bug (code 18); because: TypeError: x is not a function\\n',
  )
  expect(logged('text', { error: 'thrown text' })).toContain('error="string: thrown text"')
  const loop = new Error('round')
  loop.cause = loop
  expect(logged('json', { error: loop }).length).toBeLessThan(100_000)
})

test('no line contains a secret, and no value splits a line in two', () => {
  const record = {
    path: '/v1/hunter2\n200 GET /',
    error: new Error('wrong token "hunter2"', { cause: new Error('hunter2 again') }),
    context: { tenant: 'a', authorization: 'Bearer s3cret', 'x-api-key': 's3cret' },
  }
  for (const format of ['json', 'text'] as const) {
    const line = logged(format, record, ['hunt', 'hunter2'])
    expect(line).not.toMatch(/hunt|er2|s3cret/)
    expect(line).toContain('[secret]')
  }
})

test.each(['text', 'json'] as const)('no control character reaches a terminal in a line of %s', format => {
  const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('')
  const requestId = `${controls}\u2028\u2029\u009b31m`
  const line = logged(format, { requestId, context: { [requestId]: requestId }, error: new Error(requestId) })
  expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
  if (format === 'json') expect(JSON.parse(line).requestId).toBe(requestId)
})
