/**
 * Runs one kind of work of the growth bench in a separate process. Arguments: the work, the root, and the options as
 * JSON. Prints the entry of the report as JSON.
 */
import { growthWork } from '../dist/bench/growth-work.js'
import { peakBytes } from './peak-bytes.mjs'

const [name, root, json] = process.argv.slice(2)
const { figures, ...entry } = await growthWork(name, root, JSON.parse(json))
const all = { ...figures, peakMegabytes: peakBytes() / 1e6 }
process.stdout.write(JSON.stringify({ ...entry, figures: all }))
