/** Runs the command `sheaf work`. */
import { type MaintenanceEvent, type WorkOptions, work, workOnJob } from '../../src/index.js'
import { formatId } from '../../src/protocol/identifiers.js'
import type { Call } from './arguments.js'
import { logOf } from './commit-log.js'
import { showCounted, showSize, showTime } from './quantities.js'
import { onStop, untilStopped } from './stopping.js'

/** The exit code of `work --job` if another process runs the job. */
const runsElsewhere = 3

/** Work until a signal stops the program, or run the job that the command names. Prints one line for each piece of work. */
export async function workOnDirectory(command: Call<'work'>): Promise<void> {
  const { directory, job } = command
  if (job !== undefined) return workOnOne(command, job)
  const stop = new AbortController()
  onStop(signal => {
    console.error(`sheaf: ${signal}: giving jobs back; a second signal ends the process at once`)
    stop.abort()
  })
  console.error(`sheaf: working on ${directory}`)
  await work(directory, { ...(await workOptions(command)), signal: stop.signal, onMaintenance: print })
}

async function workOnOne(command: Call<'work'>, job: string): Promise<void> {
  const options = { ...(await workOptions(command)), signal: untilStopped(), onMaintenance: print }
  const { state, reason, ranHere } = await workOnJob(command.directory, job, options)
  if (state === 'running') {
    console.log(`job ${job}: another process runs it${ranHere ? ', and units of it ran here' : ''}`)
    process.exitCode = runsElsewhere
    return
  }
  console.log(`job ${job}: ${state}${ranHere ? '' : ' before'}${reason === undefined ? '' : `: ${reason}`}`)
  if (state !== 'finished') process.exitCode = 1
}

async function workOptions(command: Call<'work'>): Promise<WorkOptions> {
  const { jobs, segmentRows, cacheBytes, keepVersions, commitLog } = command
  return {
    ...(await logOf(commitLog)),
    ...(jobs !== undefined && { jobs }),
    ...(segmentRows !== undefined && { segmentRows }),
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(keepVersions !== undefined && { maintenance: { keepVersionsMs: keepVersions } }),
  }
}

function print(event: MaintenanceEvent): void {
  const line = describe(event)
  if (line !== null) console.log(line)
}

/** Return a line for work on a table, or null for other events. */
function describe(event: MaintenanceEvent): string | null {
  switch (event.kind) {
    case 'job': {
      const what = event.isUnit ? 'a unit has ended' : event.status.toLowerCase()
      return `job ${event.job} (${event.type}): ${what} after ${showTime(event.ms)}`
    }
    case 'compaction': {
      const { table, fragmentsBefore, fragmentsAfter, bytes } = event
      const before = showCounted(fragmentsBefore, 'fragment')
      return `${formatId(table)}: ${before} compacted into ${fragmentsAfter}; ${showSize(bytes)} written`
    }
    case 'indexed':
      return `index ${event.index}: ${showCounted(event.rows, 'row')} indexed`
    default:
      return null
  }
}
