/**
 * Runs benches by name.
 *
 *     npm run bench                          list the benches
 *     npm run bench -- query-exact           run one bench in full size (--small: in the size of the tests)
 *     npm run bench -- query-exact --json    print the report as one line of JSON
 */
import { bench as bulk } from './bulk.js'
import { bench as commit } from './commit.js'
import { bench as far } from './far.js'
import { bench as growth } from './growth.js'
import { askBenches, named } from './harness.js'
import { bench as http } from './http.js'
import { bench as httpStream } from './http-stream.js'
import { bench as indexBuild } from './index-build.js'
import { bench as ingest } from './ingest.js'
import { bench as maintenance } from './maintenance.js'
import { bench as manyTables } from './many-tables.js'
import { bench as memory } from './memory.js'
import { bench as mutate } from './mutate.js'
import { bench as nodes } from './nodes.js'
import { bench as openCold } from './open-cold.js'
import { bench as queryExact } from './query-exact.js'
import { bench as queryFiltered } from './query-filtered.js'
import { bench as queryScalar } from './query-scalar.js'
import { bench as queryShared } from './query-shared.js'
import { bench as querySql } from './query-sql.js'
import { bench as queryTable } from './query-table.js'
import { bench as queryText } from './query-text.js'
import { bench as queryVector } from './query-vector.js'
import { bench as readFiles } from './read-files.js'
import { bench as spread } from './spread.js'
import { bench as worker } from './worker.js'

await askBenches(
  [
    named(queryExact),
    named(queryTable),
    named(querySql),
    named(queryScalar),
    named(queryVector),
    named(queryShared),
    named(queryFiltered),
    named(queryText),
    named(indexBuild),
    named(openCold),
    named(far),
    named(commit),
    named(ingest),
    named(readFiles),
    named(mutate),
    named(maintenance),
    named(manyTables),
    named(memory),
    named(http),
    named(httpStream),
    named(nodes),
    named(spread),
    named(growth),
    named(bulk),
    named(worker),
  ],
  process.argv.slice(2),
)
