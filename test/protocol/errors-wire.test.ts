import { describe, expect, test } from 'vitest'
import {
  columnNotFound,
  ErrorCode,
  type ErrorKind,
  invalidInput,
  SheafError,
  statusOf,
} from '../../src/errors.js'
import { errorBody, errorFrom } from '../../src/protocol/errors-wire.js'

const path = '/v1/table/t/query'

test('A-026 the body carries both families of fields', () => {
  expect(errorBody(invalidInput('k must be an integer'), path)).toStrictEqual({
    type: '/errors/bad-request',
    title: 'Malformed request',
    status: 400,
    detail: 'k must be an integer',
    instance: path,
    code: 13,
    error: 'k must be an integer',
    docs: 'sheaf/docs/errors.md#invalidinput',
  })
})

test('A-026 the detail says what to do', () => {
  const body = errorBody(columnNotFound('titel', ['title'], { offset: 3, length: 5 }), path)
  expect(body).toMatchObject({ code: 12, hint: 'did you mean "title"?', at: { offset: 3, length: 5 } })
  expect(body.detail).toBe(`${body.error} (did you mean "title"?)`)
})

describe('A-027 kinds and titles', () => {
  const cases: [ErrorCode, ErrorKind, string][] = [
    [ErrorCode.InvalidInput, 'bad-request', 'Malformed request'],
    [
      ErrorCode.Unauthenticated,
      'unauthorized-request',
      'No valid authentication credentials for the operation',
    ],
    [ErrorCode.PermissionDenied, 'forbidden-request', 'Not authorized to make this request'],
    [ErrorCode.TableNotFound, 'not-found-error', 'Not found Error'],
    [ErrorCode.Unsupported, 'unsupported-operation', 'The server does not support this operation'],
    [ErrorCode.ConcurrentModification, 'conflict', 'The namespace has been concurrently modified'],
    [ErrorCode.TableAlreadyExists, 'conflict', 'The table already exists'],
    [ErrorCode.NamespaceNotEmpty, 'conflict', 'The namespace is not empty'],
    [ErrorCode.IndexAlreadyExists, 'conflict', 'The index already exists'],
    [ErrorCode.InvalidTableState, 'conflict', 'The table is not in a state for the operation'],
    [ErrorCode.ServiceUnavailable, 'service-unavailable', 'Slow down'],
    [ErrorCode.Internal, 'server-error', 'Internal Server Error'],
    [ErrorCode.Throttling, 'throttled', 'Too many requests'],
  ]
  test.each(cases)('code %i is %s', (code, kind, title) => {
    expect(errorBody(new SheafError(code, 'x'), path)).toMatchObject({ type: `/errors/${kind}`, title })
  })
})

describe('A-028 every error survives a round trip', () => {
  test.each(Object.entries(ErrorCode))('%s', (_, code) => {
    const error = new SheafError(code, 'a message', {
      hint: 'a hint',
      at: { offset: 1, length: 2 },
      transactionId: '1-a',
    })
    const body = errorBody(error, path)
    expect(body.status).toBe(statusOf(code))
    const back = errorFrom(body.status, JSON.parse(JSON.stringify(body)))
    expect({ ...back, message: back.message }).toStrictEqual({ ...error, message: error.message })
  })

  test('with the status of a dialect, and a kind of its own', () => {
    const unknown = new SheafError(ErrorCode.ServiceUnavailable, 'x', { kind: 'commit-state-unknown' })
    expect(errorFrom(503, errorBody(unknown, path))).toMatchObject({
      kind: 'commit-state-unknown',
      status: 503,
    })
    const exists = errorBody(new SheafError(ErrorCode.TableAlreadyExists, 'x'), path, 400)
    expect(exists.status).toBe(400)
    expect(errorFrom(400, exists)).toMatchObject({ code: 5, status: 400, kind: 'conflict' })
  })
})

describe('a foreign reply becomes an error', () => {
  test.each([
    [502, '<html>', 17, '<html>'],
    [404, undefined, 0, 'the server answered with status 404'],
    [400, { detail: 'no' }, 13, 'no'],
    [500, { code: 99, error: '' }, 18, 'the server answered with status 500'],
    [401, null, 16, 'the server answered with status 401'],
    [418, { code: '13', type: 5, at: 'x' }, 18, 'the server answered with status 418'],
  ])('%i %j', (status, body, code, message) => {
    expect(errorFrom(status, body)).toMatchObject({ status, code, message })
  })
})
