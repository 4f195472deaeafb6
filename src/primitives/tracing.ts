/** Records spans: which work ran, how long it took, and which work it was part of. */

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

/** A span that begins. */
export interface SpanStart {
  readonly name: string
  readonly kind: 'internal' | 'client' | 'server'
  readonly attributes: SpanAttributes
  /** Header fields with the context of a caller in another process. Default: the parent is the current span. */
  readonly headers?: Readonly<Record<string, unknown>>
}

/** A span that has begun. */
export interface Span {
  set(attributes: SpanAttributes): void
  /** Mark the span as failed. `type`: a name from a small set, for example the name of an error. */
  fail(type: string): void
  end(): void
}

/** Records spans. `openTelemetry` of `sheaf/opentelemetry` returns one. Its methods must not throw. */
export interface Tracing {
  /** Begin a span whose parent is the current span. The caller ends it. */
  begin(start: SpanStart): Span
  /** Run `work` with a new span as the current span. The span ends with the promise, and fails with its error. */
  run<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>
}
