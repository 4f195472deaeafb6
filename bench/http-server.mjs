/**
 * A server in a separate process, for the benches `http-stream` and `bulk`. Arguments:
 *
 * - The kind: `sheaf`, or a plain server of node:http. `bare` writes the body of a POST to a file and sends the file
 *   for a GET. `buffer` sends as many bytes as the path says.
 * - A folder.
 * - `cacheBytes`.
 * - The number of worker threads; 0 for none.
 *
 * The process sends its URL to its parent. On request it sends its memory, the maximum event-loop delay since the last
 * `forget`, and its CPU time.
 */
import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { connect } from 'sheaf'
import { serve } from 'sheaf/http'
import { connectWorker } from 'sheaf/worker'

const [kind, folder, cacheBytes, workers] = process.argv.slice(2)

async function bare() {
  const path = join(folder, 'bytes')
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      await pipeline(request, createWriteStream(path))
      const file = await open(path)
      await file.datasync()
      await file.close()
    } else await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), response, { end: false })
    response.end()
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() }
}

async function buffer() {
  let bytes = Buffer.alloc(0)
  const server = createServer((request, response) => {
    const length = Number(request.url.slice(1))
    if (bytes.length < length) bytes = Buffer.alloc(length, 1)
    request.resume()
    response.end(bytes.subarray(0, length))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() }
}

async function sheaf() {
  const options = { cacheBytes: Number(cacheBytes) }
  const ns = await (workers === '0'
    ? connect(folder, options)
    : connectWorker(folder, { ...options, workers: Number(workers) }))
  const server = await serve(ns, { port: 0 })
  const close = async () => {
    await server.close()
    await ns.close()
  }
  return { url: server.url, close }
}

/** Return the memory of the process in bytes: now, and the maximum since `forget`, as counted by the kernel. */
function memory() {
  const status = readFileSync('/proc/self/status', 'latin1')
  const [peak, now] = ['VmHWM', 'VmRSS'].map(
    name => 1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]),
  )
  return { peak, now }
}

function forget() {
  writeFileSync('/proc/self/clear_refs', '5')
  longestGapMs = 0
}

let last = performance.now()
let longestGapMs = 0
setInterval(() => {
  const now = performance.now()
  longestGapMs = Math.max(longestGapMs, now - last - 1)
  last = now
}, 1)

function cpuSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const { url, close } = await { bare, buffer, sheaf }[kind]()
process.on('message', async word => {
  if (word === 'close') {
    await close()
    process.exit()
  }
  process.send({ ...memory(), longestGapMs, cpuSeconds: cpuSeconds() })
  if (word === 'forget') forget()
})
process.on('disconnect', () => process.exit())
process.send({ url })
