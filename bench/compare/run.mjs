/**
 * Runs comparisons by name, at full size unless told `--small`. Needs `npm run build` and the packages of this
 * folder; `npm run bench:compare -- exact` sees to both.
 */
import { askBenches, named } from '../../dist/bench/harness.js'
import { bench as ann } from './ann.mjs'
import { bench as annLarge } from './ann-large.mjs'
import { bench as commit } from './commit.mjs'
import { bench as exact } from './exact.mjs'
import { bench as ingest } from './ingest.mjs'
import { bench as mutate } from './mutate.mjs'
import { bench as scalar } from './scalar.mjs'
import { bench as sql } from './sql.mjs'
import { bench as text } from './text.mjs'

const words = process.argv.slice(2)
await askBenches(
  [
    named(exact),
    named(ann),
    named(annLarge),
    named(commit),
    named(ingest),
    named(mutate),
    named(sql),
    named(scalar),
    named(text),
  ],
  words.includes('--small') ? words : ['--full', ...words],
)
