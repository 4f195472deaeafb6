/** Replays one seed of the simulation and tells it line by line: `npm run story -- --seed 4711`. */
import { simulate } from './simulate.js'

const given = process.argv.slice(2)
const tidy = given[2] === '--tidy'
const seed = given[0] === '--seed' && given.length === (tidy ? 3 : 2) ? Number(given[1]) : Number.NaN
if (!Number.isSafeInteger(seed) || seed < 0) {
  console.error('usage: npm run story -- --seed <number> [--tidy]')
  process.exit(2)
}
await simulate(seed, { tidy, tell: line => console.log(line) }).catch((error: Error) => {
  console.error(`\n${error.message}`)
  process.exitCode = 1
})
