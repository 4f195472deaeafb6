/** Lists the files that nothing of the root refers to, so that a check leaves none out without saying so. */
import { Pacer } from '../primitives/pacer.js'
import type { Verifying } from './verifying.js'

/** Folders of slots, which were all looked at, and of files that come and go while processes read and work. */
const passing = ['_log/', '_jobs/', '_pins/', '_keys/']

export async function verifyNames({ store, findings, signal }: Verifying): Promise<void> {
  const pacer = new Pacer(signal)
  for await (const { key } of store.list('', undefined, signal)) {
    await pacer.turn()
    if (passing.some(folder => key.startsWith(folder))) continue
    if (!findings.hasLookedAt(key)) findings.unreferenced.push(key)
  }
}
