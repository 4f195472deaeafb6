/**
 * Explores the scenarios of the model: all of them, or those whose name has a given part.
 *
 *     node dist/test/commit/tails/explore.js [part of a name] [--trace]
 *
 * `--trace` prints the steps to each violation. The exit status is 1 if a scenario ends differently than expected.
 */
import { TailModel } from './model.js'
import { scenarios } from './scenarios.js'
import { search } from './search.js'

const parts = process.argv.slice(2).filter(argument => argument !== '--trace')
const prints = process.argv.includes('--trace')
const cpuSeconds = () => process.cpuUsage().user / 1e6
let states = 0
let wrong = 0
const chosen = scenarios.filter(({ name }) => parts.every(part => name.includes(part)))
for (const { name, finds, rules } of chosen) {
  const start = cpuSeconds()
  const found = search(new TailModel(rules))
  const seconds = (cpuSeconds() - start).toFixed(1)
  const isRight = finds === null ? found.violation === null : (found.violation ?? '').startsWith(`${finds}:`)
  states += found.states
  if (!isRight) wrong++
  console.log(
    `${isRight ? 'ok   ' : 'WRONG'} ${name}: ${found.states} states, ${found.depth} deep, ${seconds} s; ${found.violation ?? 'no violation'}`,
  )
  if (prints || !isRight)
    for (const [index, step] of found.trace.entries())
      console.log(`${String(index + 1).padStart(8)}. ${step}`)
}
console.log(
  `${chosen.length} scenarios, ${states} states, ${cpuSeconds().toFixed(0)} s of CPU time, ${wrong} with another outcome than expected`,
)
process.exitCode = wrong > 0 || chosen.length === 0 ? 1 : 0
