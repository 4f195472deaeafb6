/** Uploads that are larger than what a server may hold of them. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { serve } from '../../../adapters/http/server.js'
import { UploadMemory } from '../../../adapters/upload-memory.js'
import { concatChunks, encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { connect } from '../../../src/index.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'
import { compressedStream } from '../../support/arrow-compressed.js'
import { failure } from '../../support/failure.js'
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
  '%s needs no more memory than the store',
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

describe('compressed uploads at the same time', () => {
  const rows = 128 * 1024
  const decoded = rows * 8
  /** Of which most rows are equal, but for the `distinct` first ones. */
  const stream = (first: number, distinct = 1) => {
    const batch = rowsToBatch([{ id: 1 }])
    const values = Float64Array.from({ length: rows }, (_, row) => first + Math.min(row, distinct))
    return compressedStream({
      ...batch,
      length: rows,
      columns: [{ ...batch.columns[0]!, length: rows, values }],
    })
  }

  /** The most that was taken of the memory of all uploads, and how often one had to wait. */
  function watched() {
    const seen = { most: 0, waits: 0 }
    const { tryEnter } = UploadMemory.prototype
    const spy = vi.spyOn(UploadMemory.prototype, 'tryEnter').mockImplementation(function (
      this: UploadMemory,
      bytes,
    ) {
      const isIn = tryEnter.call(this, bytes)
      seen.most = Math.max(seen.most, this.used)
      if (!isIn) seen.waits++
      return isIn
    })
    return { seen, end: () => spy.mockRestore() }
  }

  test('take turns to use their shared memory', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: 1 }])
    const uploadBytes = 1.5 * decoded
    const server = await serve(ns, { port: 0, limits: { uploadBytes } })
    const { seen, end } = watched()
    const bodies = Array.from({ length: 12 }, (_, i) => stream(i))
    const { enter } = UploadMemory.prototype
    let arrived = 0
    // Nothing is left until all are there.
    const gate = vi.spyOn(UploadMemory.prototype, 'enter').mockImplementation(function (
      this: UploadMemory,
      ...how
    ) {
      if (arrived++ === 0) this.tryEnter(uploadBytes)
      const entered = enter.apply(this, how)
      if (arrived === bodies.length) this.leave(uploadBytes)
      return entered
    })
    const replies = await Promise.all(
      bodies.map(body => ask(server.url, { path: '/v1/table/t/insert', body })),
    )
    gate.mockRestore()
    end()
    expect(replies.map(({ status }) => status)).toEqual(bodies.map(() => 200))
    expect(await (await ns.openTable('t')).countRows()).toBe(12 * rows + 1)
    expect(seen.most).toBe(uploadBytes)
    expect(seen.waits).toBeGreaterThanOrEqual(bodies.length)
    await server.close()
    await ns.close()
  })

  test('a merge keeps its rows in memory: too many of them are refused', async () => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: -1 }])
    const server = await serve(ns, { port: 0, limits: { uploadBytes: 3 * decoded } })
    const path = '/v1/table/t/merge_insert?on=id&when_not_matched_insert_all=true'
    const parts = [0, 1, 2, 3].map(i => stream(i * rows, rows))
    const headBytes = 8 + new DataView(parts[0]!.buffer, parts[0]!.byteOffset).getInt32(4, true)
    const body = concatChunks([
      parts[0]!.subarray(0, headBytes),
      ...parts.map(part => part.subarray(headBytes)),
    ])
    const refused = await ask(server.url, { path, body })
    expect(refused.json).toMatchObject({
      code: 13,
      status: 413,
      detail: expect.stringContaining('fewer rows'),
    })
    const small = concatChunks(encodeIpcStream(rowsToBatch([{ id: 5 }]).schema, [rowsToBatch([{ id: 5 }])]))
    expect((await ask(server.url, { path, body: small })).status).toBe(200)
    await server.close()
    await ns.close()
  })
})

describe('uploads in parts', () => {
  const uploading = async (limits: object) => {
    const ns = await connect('memory://')
    await ns.createTable('t', [{ id: 1 }])
    const server = await serve(ns, { port: 0, limits })
    const remote = connectHttp(server.url)
    const close = async () => {
      await remote.close()
      await server.close()
      await ns.close()
    }
    return { table: await remote.openTable('t'), close }
  }

  test('are limited by number for each caller', async () => {
    const { table, close } = await uploading({ openUploads: 2 })
    const [first] = [await table.upload(), await table.upload()]
    expect(await failure(table.upload())).toMatchObject({ code: 21, status: 429 })
    await first!.abort()
    await table.upload()
    await close()
  })

  test('are limited by bytes for each caller', async () => {
    const { table, close } = await uploading({ openUploadBytes: 3000 })
    const upload = await table.upload()
    await upload.add([{ id: 2 }], { part: 'a' })
    const many = Array.from({ length: 1000 }, (_, id) => ({ id }))
    expect(await failure(upload.add(many, { part: 'b' }))).toMatchObject({ code: 13, status: 413 })
    expect(await upload.commit()).toMatchObject({ parts: 1, inserted: 1 })
    await close()
  })
})
