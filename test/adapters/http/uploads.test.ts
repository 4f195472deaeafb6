/** Uploads that are larger than what a server may hold of them. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { expect, test } from 'vitest'
import { serve } from '../../../adapters/http/server.js'
import { concatChunks, encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { connect } from '../../../src/index.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'
import { ask } from '../../support/http.js'
import { WrappedStore } from '../../support/stores.js'

/** Of a megabyte each, in one upload. */
const batches = 24

/** Streams of data are stored when `next` lets them, some megabytes at a time. */
class SlowStore extends WrappedStore {
  taken = 0
  #waited = 0
  readonly #next: () => Promise<void>

  constructor(next: () => Promise<void>) {
    super(new MemoryStore())
    this.#next = next
  }

  protected around<T>(_call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    return run()
  }

  override putStream(key: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    return super.putStream(key, this.#slowly(chunks))
  }

  async *#slowly(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      if (this.taken >= this.#waited) {
        this.#waited += 4 << 20
        await this.#next()
      }
      this.taken += chunk.length
      yield chunk
    }
  }
}

test.each(['create', 'insert', 'insert?mode=overwrite'])(
  '%s takes no more than the store does',
  async operation => {
    let sent = 0
    let ahead = 0
    const store = new SlowStore(async () => {
      // Other requests go through meanwhile, so that whatever the sockets take has been taken.
      for (let i = 0; i < 3; i++) await ask(server.url, { method: 'GET', path: '/healthz' })
      ahead = Math.max(ahead, sent - store.taken)
    })
    const ns = await connect('memory://', { store })
    const server = await serve(ns, { port: 0 })
    const one = rowsToBatch([{ id: 1 }])
    if (operation !== 'create') await ns.createTable('t', [{ id: 1 }])
    const rows = 128 * 1024
    const values = Float64Array.from({ length: rows }, (_, row) => row)
    const many = { ...one, length: rows, columns: [{ ...one.columns[0]!, length: rows, values }] }
    const stream = concatChunks(encodeIpcStream(one.schema, [many]))
    const headBytes = 8 + new DataView(stream.buffer).getInt32(4, true)
    const batch = stream.subarray(headBytes, -8)

    const request = httpRequest(`${server.url}/v1/table/t/${operation}`, { method: 'POST' })
    const answered = once(request, 'response')
    request.write(stream.subarray(0, headBytes))
    for (let i = 0; i < batches; i++) {
      sent += batch.length
      if (!request.write(batch)) await once(request, 'drain')
    }
    request.end(stream.subarray(-8))
    const [response] = await answered
    response.resume()
    expect(response.statusCode).toBe(200)
    expect(sent).toBeGreaterThan(batches << 20)
    // One record batch, one message, and what two sockets hold.
    expect(ahead).toBeLessThan(16 << 20)
    expect(await ns.table('t').countRows()).toBe(batches * rows + (operation === 'insert' ? 1 : 0))
    await server.close()
    await ns.close()
  },
)
