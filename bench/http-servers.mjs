/**
 * Two servers in a separate process: Sheaf over the root in the argument, and a plain server of node:http that sends
 * prepared replies. The process sends both ports to its parent. The message `{ path, type, body }` sets the plain
 * server's reply for a path.
 */
import { createServer } from 'node:http'
import { connect } from 'sheaf'
import { serve } from 'sheaf/http'

const ns = await connect(process.argv[2])
const sheaf = await serve(ns, { port: 0 })

const replies = new Map()
// Use the same timeout as Sheaf, because connections are idle while the other server is measured.
const bare = createServer({ keepAliveTimeout: 305_000 }, (request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const { type, body } = replies.get(request.url)
    response.writeHead(200, { 'content-type': type, 'content-length': body.length })
    response.end(body)
  })
})
await new Promise(resolve => bare.listen(0, '127.0.0.1', resolve))

process.on('message', ({ path, type, body }) => {
  replies.set(path, { type, body: Buffer.from(body, 'base64') })
  process.send({ learned: path })
})
process.on('disconnect', () => process.exit())
process.send({ sheaf: Number(new URL(sheaf.url).port), bare: bare.address().port })
