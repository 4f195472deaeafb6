/**
 * Runs the engines of `text-engines` in separate processes, so that the heap and the compiled code of one engine do not
 * affect the times of another one. Only one process works at a time.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('apart-engine.mjs', import.meta.url))

/**
 * Make the engine `name` at `path` in a new process. `texts`: the options of `textsOf`. Returns `took` (an entry with
 * the time of making it), `ways` (the kinds of searches that it supports), `ask(way, queries)` (with the result of
 * `oneByOne`), and `close()`.
 */
export async function madeApart(name, path, texts) {
  const child = fork(script, { serialization: 'advanced' })
  const call = message =>
    new Promise((resolve, reject) => {
      const ended = code => reject(new Error(`the process of ${name} exited with the status ${code}`))
      child.once('exit', ended)
      child.once('message', ({ error, reply }) => {
        child.off('exit', ended)
        if (error === undefined) resolve(reply)
        else reject(new Error(`${name}: ${error}`))
      })
      child.send(message, error => error !== null && reject(error))
    })
  const { took, ways } = await call({ kind: 'make', name, path, texts }).catch(error => {
    child.kill()
    throw error
  })
  return {
    name,
    took,
    ways,
    ask: (way, queries) => call({ kind: 'ask', way, queries }),
    close: async () => child.connected && call({ kind: 'close' }),
  }
}
