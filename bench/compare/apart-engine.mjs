/**
 * The program of the processes that `apart.mjs` starts: it makes a text engine, runs queries, and closes the engine.
 */
import { oneByOne } from '../../dist/bench/one-by-one.js'
import { textsOf } from '../../dist/bench/text-data.js'
import { made } from './made.mjs'
import { makers } from './text-engines.mjs'

const engines = []

const calls = {
  async make({ name, path, texts }) {
    const { documents } = textsOf(texts)
    const [took] = await made(
      { [name]: makers[name] },
      engines,
      make => make(documents, path),
      async engine => ({ megabytes: (await engine.bytes()) / 1e6 }),
    )
    return { took, ways: ['or', 'and', 'phrase'].filter(way => engines[0][way] !== undefined) }
  },
  ask: ({ way, queries }) => oneByOne(queries, engines[0][way]),
  close: () => engines[0].close(),
}

process.on('message', async message => {
  try {
    const reply = await calls[message.kind](message)
    process.send({ reply }, () => message.kind === 'close' && process.disconnect())
  } catch (error) {
    process.send({ error: error.stack })
  }
})
