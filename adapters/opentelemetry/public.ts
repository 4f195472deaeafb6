/** The exports of `sheaf/opentelemetry`. */

export type { Span, SpanAttributes, SpanStart, Tracing } from '../../src/primitives/tracing.js'
export { openTelemetry, traceHeaders } from './open-telemetry.js'
