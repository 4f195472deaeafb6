/** Servers of tests. */
import { afterEach } from 'vitest'
import type { ServeOptions } from '../../../adapters/http/options.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'

/** Call at the top of a test file: what it gives serves something on a free port until the test ends, and tells where. */
export function servers(): (served: Parameters<typeof serve>[0], options?: ServeOptions) => Promise<string> {
  const running: HttpServer[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map(server => server.close()))
  })
  return async (served, options = {}) => {
    const server = await serve(served, { port: 0, ...options })
    running.push(server)
    return server.url
  }
}
