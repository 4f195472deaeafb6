/**
 * An HTTP client in a separate process. It sends the requests that its parent process passes, one at a time, and reads
 * each reply to its end. It returns the size of the reply. If the reply is JSON, it also returns the content.
 */
import { createReadStream } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'

const agent = new Agent({ keepAlive: true })

async function sendFiles(request, files) {
  for (const file of files) {
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
      if (!request.write(chunk)) await new Promise(resolve => request.once('drain', resolve))
    }
  }
  request.end()
}

/** Send a request and read the reply. `files`: the files whose bytes form the body, in this order. */
async function exchange({ url, headers, body, files = [] }) {
  const request = httpRequest(url, { method: 'POST', headers, agent })
  const answered = new Promise((resolve, reject) => request.once('response', resolve).once('error', reject))
  if (files.length === 0) request.end(body)
  // Do not wait for the whole body, because a server that refuses a request may reply before it has read the body.
  else await Promise.race([sendFiles(request, files), answered])
  const response = await answered
  const isJson = response.headers['content-type'] === 'application/json'
  const chunks = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (isJson) chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  if (response.statusCode >= 300) throw new Error(`status ${response.statusCode}: ${text}`)
  return { bytes, json: text === '' ? null : JSON.parse(text) }
}

process.on('message', async asked => {
  try {
    process.send(await exchange(asked))
  } catch (cause) {
    process.send({ error: String(cause) })
  }
})
process.on('disconnect', () => process.exit())
