/**
 * Checks the pages and packs that the newest checkpoint does not name. They are still needed, because the previous
 * checkpoint may name them, and processes that opened the root earlier may read them. The name of each file contains
 * its checksum.
 */
import type { PackInfo } from '../commit/packs.js'
import { Pacer } from '../primitives/pacer.js'
import { damageOf } from './findings.js'
import { noteDamage, rebuilt, recordsIn } from './verify-history.js'
import { verifySlotsIn } from './verify-packs.js'
import type { Verifying } from './verifying.js'

const pattern = /^_hist\/((\d{20})-(\d{20})-(?:[0-9a-z]+-)?[0-9a-f]{8}\.(page|slots))$/

/** Check all files in `_hist/` that were not checked before. */
export async function verifyReplaced(verifying: Verifying): Promise<void> {
  const { store, findings, signal } = verifying
  const pacer = new Pacer(signal)
  for await (const { key, size } of store.list('_hist/', undefined, signal)) {
    if (findings.hasLookedAt(key)) continue
    const [, name, from, to, kind] = pattern.exec(key) ?? []
    if (name === undefined) continue
    const info = { from: Number(from), to: Number(to), name, bytes: size }
    if (kind === 'slots') await verifyReplacedPack(verifying, info, key, pacer)
    else {
      const bytes = await store.get(key, signal)
      // A trim deleted the page after it was listed.
      if (bytes === null) continue
      findings.file(key, bytes.length)
      const { fault } = await recordsIn(bytes, info, pacer)
      if (fault !== null) await noteDamage(verifying, info, fault, await rebuilt(verifying, info))
    }
    await pacer.turn()
  }
}

async function verifyReplacedPack(
  verifying: Verifying,
  info: PackInfo,
  key: string,
  pacer: Pacer,
): Promise<void> {
  const { store, findings } = verifying
  findings.file(key, info.bytes)
  try {
    await verifySlotsIn(verifying, info, null, pacer)
  } catch (error) {
    // If the pack no longer exists, a trim deleted it after it was listed, which is not a problem.
    if ((await store.stat(key, pacer.signal)) !== null) await findings.note('pack', key, damageOf(error))
  }
}
