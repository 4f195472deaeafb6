/**
 * A client in a process of its own: sends the requests that its parent tells it, one at a time, reads each reply to its end and forgets it. Of a reply of
 * JSON it tells the content.
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

/** `files`: the body, one after the other. */
async function exchange({ url, headers, body, files = [] }) {
  const request = httpRequest(url, { method: 'POST', headers, agent })
  const answered = new Promise((resolve, reject) => request.once('response', resolve).once('error', reject))
  if (files.length === 0) request.end(body)
  // A server that refuses a request answers before it has read all of it.
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
