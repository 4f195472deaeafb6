/** Records spans with the package `@opentelemetry/api`. Only this file uses the package. */
import type { ApiSpan } from '@opentelemetry/api'
import { SheafError } from '../../src/errors.js'
import type { Span, SpanStart, Tracing } from '../../src/primitives/tracing.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { importClient } from '../object-store/options.js'

type Api = typeof import('@opentelemetry/api')

const importApi = (user: string): Promise<Api> =>
  importClient('@opentelemetry/api', '', () => import('@opentelemetry/api'), user)

/**
 * Return the option `tracing` of `connect` and `serve`. It records spans with the tracer provider that the program
 * registered, under the name `sheaf`. Without a provider, nothing is recorded.
 *
 * Throws `InvalidInput` if the package `@opentelemetry/api` is not installed.
 *
 * ```js
 * const ns = await connect('./data', { tracing: await openTelemetry() })
 * ```
 */
export async function openTelemetry(...more: readonly unknown[]): Promise<Tracing> {
  refuseMore('openTelemetry', 0, more)
  return tracingOver(await importApi('openTelemetry'))
}

/**
 * Return header fields with the current context, for the option `headers` of `connectHttp`. The server that gets them
 * records its spans within the current span. Programs whose HTTP instrumentation adds these fields do not need it.
 *
 * Throws `InvalidInput` if the package `@opentelemetry/api` is not installed.
 *
 * ```js
 * const ns = connectHttp('http://localhost:2333', { headers: traceHeaders })
 * ```
 */
export async function traceHeaders(...more: readonly unknown[]): Promise<Record<string, string>> {
  refuseMore('traceHeaders', 0, more)
  return headersOver(await importApi('traceHeaders'))
}

export function headersOver({ context, propagation }: Api): Record<string, string> {
  const headers: Record<string, string> = {}
  propagation.inject(context.active(), headers)
  return headers
}

export function tracingOver({ context, propagation, trace, SpanKind, SpanStatusCode }: Api): Tracing {
  const tracer = trace.getTracer('sheaf')
  const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER }
  const start = ({ name, kind, attributes, headers }: SpanStart) => {
    const active = context.active()
    const parent = headers === undefined ? active : propagation.extract(active, headers)
    return { parent, span: tracer.startSpan(name, { kind: kinds[kind], attributes }, parent) }
  }
  const wrapped = (span: ApiSpan): Span => ({
    set: attributes => span.setAttributes(attributes),
    fail: type => {
      span.setAttributes({ 'error.type': type })
      span.setStatus({ code: SpanStatusCode.ERROR })
    },
    end: () => span.end(),
  })
  return {
    begin: facts => wrapped(start(facts).span),
    run(facts, work) {
      const { parent, span } = start(facts)
      return context.with(trace.setSpan(parent, span), async () => {
        const own = wrapped(span)
        try {
          return await work(own)
        } catch (error) {
          own.fail(error instanceof SheafError ? error.name : 'Error')
          throw error
        } finally {
          own.end()
        }
      })
    },
  }
}
