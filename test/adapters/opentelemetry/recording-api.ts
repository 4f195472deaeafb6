/** A stand-in for the package `@opentelemetry/api` with a registered provider that records all spans. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ApiSpan, Context } from '@opentelemetry/api'

export interface RecordedSpan {
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** The name of the parent span, or the value of the field `traceparent`. */
  readonly parent: string | undefined
  readonly failed: boolean
}

class TestContext implements Context {
  readonly parent: string | undefined
  constructor(parent?: string) {
    this.parent = parent
  }
  getValue(): unknown {
    return this.parent
  }
}

class TestSpan implements ApiSpan {
  readonly name: string
  readonly #record: (failed: boolean, attributes: Record<string, string | number>) => void
  readonly #attributes: Record<string, string | number> = {}
  #failed = false
  #ended = false

  constructor(name: string, record: (failed: boolean, attributes: Record<string, string | number>) => void) {
    this.name = name
    this.#record = record
  }

  setAttributes(attributes: Record<string, string | number | undefined>): void {
    for (const [key, value] of Object.entries(attributes))
      if (value !== undefined) this.#attributes[key] = value
  }

  setStatus({ code }: { code: number }): void {
    this.#failed = code === 2
  }

  end(): void {
    if (this.#ended) throw new Error(`the span ${this.name} ended twice`)
    this.#ended = true
    this.#record(this.#failed, this.#attributes)
  }
}

/** Return the api and the list of ended spans. */
export function recordingApi() {
  const active = new AsyncLocalStorage<TestContext>()
  const spans: RecordedSpan[] = []
  const api: typeof import('@opentelemetry/api') = {
    context: {
      active: () => active.getStore() ?? new TestContext(),
      with: (context, work) => active.run(context as TestContext, work),
    },
    trace: {
      getTracer: () => ({
        startSpan(name, { kind, attributes }, context) {
          const { parent } = context as TestContext
          const span = new TestSpan(name, (failed, all) =>
            spans.push({ name, kind, attributes: all, parent, failed }),
          )
          span.setAttributes(attributes)
          return span
        },
      }),
      setSpan: (_, span) => new TestContext((span as TestSpan).name),
    },
    propagation: {
      extract: (context, carrier) => {
        const { traceparent } = carrier as { readonly traceparent?: string }
        return traceparent === undefined ? context : new TestContext(traceparent)
      },
      inject: (context, carrier) => {
        const { parent } = context as TestContext
        if (parent !== undefined) Object.assign(carrier, { traceparent: parent })
      },
    },
    SpanKind: { INTERNAL: 0, SERVER: 1, CLIENT: 2 },
    SpanStatusCode: { ERROR: 2 },
  }
  return { api, spans }
}
