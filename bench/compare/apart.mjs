/**
 * Engines of `text-engines` in processes of their own: what one leaves on the heap, or teaches the compiler, is on no other's time.
 * One process works at a time.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('apart-engine.mjs', import.meta.url))

/**
 * Makes the engine `name` of `texts` (`wordNet`, or how many `documents` are made) at `path`. Gives `took`, what making it took;
 * `ways`, which searches it has; `ask(way, queries)`, as `oneByOne` gives it; and `close()`.
 */
export async function madeApart(name, path, texts) {
  const child = fork(script, { serialization: 'advanced' })
  const call = message =>
    new Promise((resolve, reject) => {
      const ended = code => reject(new Error(`the process of ${name} ended with ${code}`))
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
