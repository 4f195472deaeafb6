/** Operations that remember what they were asked and answer what a test says: what is left to test is translation. */
import {
  type ArrowBody,
  bindHandlers,
  type Handlers,
  type OperationOptions,
  type Operations,
} from '../../src/protocol/calls.js'
import {
  type OperationEntry,
  type OperationName,
  operationNames,
  operations,
} from '../../src/protocol/operations.js'

export interface Heard {
  readonly name: OperationName
  readonly request: Readonly<Record<string, unknown>>
  readonly options: OperationOptions
  /** All bytes of the Arrow body, for operations that have one. */
  readonly body: Buffer | undefined
}

/** What an operation does once it knows what it was asked; may throw. */
export type Answer = (heard: Heard) => unknown

export interface Echo {
  readonly operations: Operations
  readonly heard: Heard[]
  /** What the operation of the latest call was asked. */
  readonly last: Heard
  answer: Answer
}

/** A reply of every kind, valid for most operations. */
const plainReplies = {
  json: {},
  integer: 7,
  text: 'a "plan"',
  arrow: { version: 3, chunks: [Buffer.from('ARROW1 and'), Buffer.from(' so on')] },
  empty: undefined,
}

export function plainAnswer({ name }: Heard): unknown {
  return plainReplies[operations[name].reply]
}

export function echo(answer: Answer = plainAnswer): Echo {
  const heard: Heard[] = []
  const self: Echo = {
    operations: withHandler(async (name, request, options, body) => {
      const call: Heard = { name, request, options, body: body && (await collected(body)) }
      heard.push(call)
      return self.answer(call)
    }),
    heard,
    get last() {
      return heard.at(-1)!
    },
    answer,
  }
  return self
}

/** Operations that all do the same. The body is not read. */
export function withHandler(
  handle: (
    name: OperationName,
    request: Heard['request'],
    options: OperationOptions,
    body: ArrowBody | undefined,
  ) => Promise<unknown>,
): Operations {
  const handlers = Object.fromEntries(
    operationNames.map(name => {
      const takesBody = (operations[name] as OperationEntry).body === 'arrow'
      return [
        name,
        (_: null, request: Heard['request'], ...rest: unknown[]) =>
          handle(
            name,
            request,
            rest.at(-1) as OperationOptions,
            takesBody ? (rest[0] as ArrowBody) : undefined,
          ),
      ]
    }),
  )
  return bindHandlers(handlers as unknown as Handlers<null>, null)
}

async function collected(body: ArrowBody): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
