/** Records a span for a request to the server. */
import type { ServerResponse } from 'node:http'
import type { Tracing } from '../../src/primitives/tracing.js'
import { type OperationEntry, operations } from '../../src/protocol/operations.js'
import type { Answer } from './answer.js'

/** Answer a request in a span. Its parent is the span of the client, if the header fields of the request name one. */
export function tracedAnswer(tracing: Tracing, answer: Answer, response: ServerResponse): Promise<void> {
  const { headers, method = '' } = response.req
  const { operation } = answer
  const route = operation && (operations[operation] as OperationEntry).routes[0].split(' ')[1]
  const start = {
    name: route === undefined ? method : `${method} ${route}`,
    kind: 'server' as const,
    attributes: { 'http.request.method': method, 'http.route': route },
    headers,
  }
  return tracing.run(start, async span => {
    await answer.run()
    const { statusCode } = response
    span.set({ 'http.response.status_code': statusCode })
    if (statusCode >= 500) span.fail(String(statusCode))
  })
}
