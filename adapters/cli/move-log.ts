/** Runs the command `sheaf move-log`. */
import { moveLog } from '../../src/index.js'
import { openPostgresLog } from '../postgres/public.js'
import type { Call } from './arguments.js'
import { Misuse } from './misuse.js'
import { showCounted } from './quantities.js'
import { untilStopped } from './stopping.js'

/** Move the commit log of a root. Prints what was done. */
export async function moveLogOf({ directory, from, to }: Call<'move-log'>): Promise<void> {
  if (to === undefined) throw new Misuse('move-log needs --to')
  const signal = untilStopped()
  const old = from === undefined ? undefined : await openPostgresLog(from)
  const next = to === 'files' ? to : await openPostgresLog(to)
  const { slot, copied } = await moveLog(directory, { to: next, ...(old && { from: old }), signal })
  const name = next === 'files' ? 'the files' : next.name
  const what = copied === 0 ? 'was there already' : `${showCounted(copied, 'slot')} copied`
  console.log(`the log of ${directory} is in ${name} after slot ${slot}; ${what}`)
}
