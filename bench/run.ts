/**
 * Runs benches by name, at their small size unless told `--full`.
 *
 *   npm run bench                        what there is to ask
 *   npm run bench -- query-exact         one question, at full size
 *   npm run bench -- query-exact --json  the report as one line of JSON
 */
import { type Bench, formatReport, runBench } from './harness.js'
import { bench as openCold } from './open-cold.js'
import { bench as queryExact } from './query-exact.js'

const benches = [entry(queryExact), entry(openCold)]

const flags = process.argv.slice(2).filter(argument => argument.startsWith('--'))
const names = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const size = flags.includes('--full') ? 'full' : 'small'

if (names.length === 0) for (const { name, question } of benches) console.log(`${name}: ${question}`)
for (const name of names) {
  const bench = benches.find(candidate => candidate.name === name)
  if (bench === undefined) {
    console.error(`no bench named ${name}; there is ${benches.map(known => known.name).join(', ')}`)
    process.exit(2)
  }
  const report = await bench.run(size)
  console.log(flags.includes('--json') ? JSON.stringify(report) : formatReport(report))
}

function entry<Parameters>(bench: Bench<Parameters>) {
  const { name, question } = bench
  return { name, question, run: (size: 'small' | 'full') => runBench(bench, size) }
}
