/** The parts of the package `@opentelemetry/api` that Sheaf uses. The package is optional, and not installed here. */
declare module '@opentelemetry/api' {
  export interface Context {
    getValue(key: symbol): unknown
  }

  export interface ApiSpan {
    setAttributes(attributes: Record<string, string | number | undefined>): unknown
    setStatus(status: { code: number }): unknown
    end(): void
  }

  export interface Tracer {
    startSpan(
      name: string,
      options: { kind: number; attributes: Record<string, string | number | undefined> },
      context: Context,
    ): ApiSpan
  }

  export const trace: {
    getTracer(name: string, version?: string): Tracer
    setSpan(context: Context, span: ApiSpan): Context
  }
  export const context: {
    active(): Context
    with<T>(context: Context, work: () => T): T
  }
  export const propagation: {
    extract(context: Context, carrier: unknown): Context
    inject(context: Context, carrier: object): void
  }
  export const SpanKind: { readonly INTERNAL: number; readonly SERVER: number; readonly CLIENT: number }
  export const SpanStatusCode: { readonly ERROR: number }
}
