/**
 * Lists the files of the root that were not checked, because no other file refers to them. So the result mentions all
 * files.
 */
import { Pacer } from '../primitives/pacer.js'
import type { Verifying } from './verifying.js'

/**
 * Folders and files that are not listed: the log, whose slots were all checked, its moves, and what changes while processes run.
 */
const notListed = ['_log/', '_moves/', '_jobs/', '_pins/', '_keys/', '_ckpt/newest']

/** Add the keys of the files that were not checked to `findings.unreferenced`. */
export async function verifyNames({ store, findings, signal }: Verifying): Promise<void> {
  const pacer = new Pacer(signal)
  for await (const { key } of store.list('', undefined, signal)) {
    await pacer.turn()
    if (notListed.some(folder => key.startsWith(folder))) continue
    if (!findings.hasLookedAt(key)) findings.unreferenced.push(key)
  }
}
