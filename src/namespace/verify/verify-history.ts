/** Checks that the pages of the history say what the log says. */
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoint } from '../../commit/checkpoints.js'
import { rebuild } from '../../manifest/history.js'
import { pageKey } from '../../manifest/history-page.js'
import { Pacer } from '../../primitives/pacer.js'
import { pagesOf } from '../upkeep/checkpoint-extra.js'
import { damageOf } from './verify-log.js'
import { replaced } from './verify-tables.js'
import type { Verifying } from './verifying.js'

export async function verifyHistory(
  { findings, store, slots, signal }: Verifying,
  checkpoint: Checkpoint<CatalogState>,
): Promise<void> {
  const pages = pagesOf(checkpoint)
  const pacer = new Pacer(signal)
  let next = 1
  for (const [i, page] of pages.entries()) {
    findings.progress('history', i, pages.length)
    const key = pageKey(page)
    if (page.from !== next) await findings.note('page', key, `it follows a page that ends before ${next}`)
    next = page.to + 1
    findings.file(page.bytes)
    try {
      const right = await rebuild(page, slots)
      const repair = () => replaced(store, key, right.bytes)
      if (right.page.name !== page.name) {
        await findings.note('page', key, `the log makes ${right.page.name} of its slots`)
      } else if (page.bytes > 0) {
        const bytes = await store.get(key, signal)
        if (bytes === null) await findings.note('page', key, 'it is missing', repair)
        else if (Buffer.compare(bytes, right.bytes) !== 0) {
          await findings.note('page', key, 'it is not what the log makes of its slots', repair)
        }
      }
    } catch (error) {
      await findings.note('page', key, `there is nothing to hold it against: ${damageOf(error)}`)
    }
    await pacer.turn()
  }
  findings.progress('history', pages.length, pages.length)
  if (next !== checkpoint.slot + 1) {
    await findings.note('page', '_hist/', `the pages end at slot ${next - 1}, not at ${checkpoint.slot}`)
  }
}
