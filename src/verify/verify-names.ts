/** Lists the files that nothing in the root refers to, so that a check skips no file silently. */
import { Pacer } from '../primitives/pacer.js'
import type { Verifying } from './verifying.js'

/** Folders that are not listed: slots, which were all checked, and files that come and go while processes read and work. */
const notListed = ['_log/', '_jobs/', '_pins/', '_keys/']

export async function verifyNames({ store, findings, signal }: Verifying): Promise<void> {
  const pacer = new Pacer(signal)
  for await (const { key } of store.list('', undefined, signal)) {
    await pacer.turn()
    if (notListed.some(folder => key.startsWith(folder))) continue
    if (!findings.hasLookedAt(key)) findings.unreferenced.push(key)
  }
}
