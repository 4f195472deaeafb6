import { askBenches, named } from '../../dist/bench/harness.js'
const t = process.argv[2]; const { bench } = await import(`./${t}.mjs`)
await askBenches([named(bench)], process.argv.slice(2))
