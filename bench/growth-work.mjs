/** One kind of work of the growth bench in a process of its own. Arguments: the work, the root, and as JSON its options. Prints its entry as JSON. */
import { growthWork } from '../dist/bench/growth-work.js'
import { peakBytes } from './peak-bytes.mjs'

const [name, root, json] = process.argv.slice(2)
const { figures, ...entry } = await growthWork(name, root, JSON.parse(json))
const all = { ...figures, peakMegabytes: peakBytes() / 1e6 }
process.stdout.write(JSON.stringify({ ...entry, figures: all }))
