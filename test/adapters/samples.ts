/** Requests and replies of every operation, made from their shapes. */
import fc from 'fast-check'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import { arbitraryOf } from '../support/shape-arbitrary.js'

export interface Sample {
  readonly request: Readonly<Record<string, unknown>>
  readonly body: Uint8Array | undefined
  readonly reply: unknown
}

/** `count` calls of an operation, the same every time; requests in normal form. */
export function samplesOf(name: OperationName, count: number): Sample[] {
  const entry: OperationEntry = operations[name]
  const bytes = fc.uint8Array({ maxLength: 40 })
  const replies = {
    arrow: fc.record({
      version: fc.nat(),
      chunks: fc.array(fc.uint8Array({ minLength: 1 }), { minLength: 1 }),
    }),
    empty: fc.constant(undefined),
  }
  const sample = fc.record({
    request: arbitraryOf(entry.request).map(request => withoutCaller(parse(entry.request, request, name))),
    body: entry.body === 'arrow' ? bytes : fc.constant(undefined),
    reply:
      entry.reply === 'arrow' || entry.reply === 'empty'
        ? replies[entry.reply]
        : arbitraryOf(entry.response!),
  })
  return fc.sample(sample as fc.Arbitrary<Sample>, { numRuns: count, seed: 1 })
}

/** Identity and context travel another way, where there are ways that cannot carry every text. */
function withoutCaller(request: unknown): Sample['request'] {
  const { identity: _, context: __, ...fields } = request as Record<string, unknown>
  return fields
}

/** A reply that fits the operation. */
export function sampleReply({ name }: { readonly name: OperationName }): unknown {
  return samplesOf(name, 1)[0]!.reply
}

/** A reply with its chunks joined: where it was cut is not part of it. */
export function uncut(reply: unknown): unknown {
  if (typeof reply !== 'object' || reply === null || !('chunks' in reply)) return reply
  return { ...reply, chunks: Buffer.concat(reply.chunks as Uint8Array[]).toString('hex') }
}

/** A call of any operation. */
export function callOf(
  target: object,
  name: OperationName,
  { request, body }: Pick<Sample, 'request' | 'body'>,
  options = {},
): Promise<unknown> {
  const methods = target as Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>
  return body === undefined ? methods[name]!(request, options) : methods[name]!(request, body, options)
}
