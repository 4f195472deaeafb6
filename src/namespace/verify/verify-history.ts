/** Checks that the pages of the history say what the log says, as far as it still does. */
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoint } from '../../commit/checkpoints.js'
import { type PageInfo, type Rebuilt, rebuild } from '../../manifest/history.js'
import { decodePage, pageKey } from '../../manifest/history-page.js'
import { Pacer } from '../../primitives/pacer.js'
import { pagesOf } from '../upkeep/checkpoint-extra.js'
import { damageOf } from './findings.js'
import { replaced } from './verify-tables.js'
import { mustBeThere, type Verifying } from './verifying.js'

export async function verifyHistory(
  verifying: Verifying,
  checkpoint: Checkpoint<CatalogState>,
): Promise<void> {
  const { findings, signal } = verifying
  const pages = pagesOf(checkpoint)
  const pacer = new Pacer(signal)
  let next = 1
  for (const [i, page] of pages.entries()) {
    findings.progress('history', i, pages.length)
    if (page.from !== next) {
      await findings.note('page', pageKey(page), `it follows a page that ends before ${next}`)
    }
    next = page.to + 1
    await verifyPage(verifying, page, pacer)
    await pacer.turn()
  }
  findings.progress('history', pages.length, pages.length)
  if (next !== checkpoint.slot + 1) {
    await findings.note('page', '_hist/', `the pages end at slot ${next - 1}, not at ${checkpoint.slot}`)
  }
}

async function verifyPage(verifying: Verifying, page: PageInfo, pacer: Pacer): Promise<void> {
  const { findings, store } = verifying
  const key = pageKey(page)
  findings.file(page.bytes)
  const right = await rebuilt(verifying, page)
  if (right !== null && right.page.name !== page.name) {
    return findings.note('page', key, `the log makes ${right.page.name} of its slots`)
  }
  if (page.bytes === 0) return
  const bytes = await store.get(key, pacer.signal)
  if (bytes === null) await mustBeThere(verifying)
  const fault = bytes === null ? 'it is missing' : await faultIn(bytes, page, pacer)
  if (fault === null) return
  if (right === null) await findings.note('page', key, `${fault}; slots that it was made of are gone`)
  else await findings.note('page', key, fault, () => replaced(store, key, right.bytes))
}

/** Null where slots are gone from the log, or damaged, which was told with them. */
async function rebuilt({ slots }: Verifying, page: PageInfo): Promise<Rebuilt | null> {
  try {
    return await rebuild(page, slots)
  } catch (error) {
    damageOf(error)
    return null
  }
}

/** A page of that name whose checksums are right has the bytes that were written. */
async function faultIn(bytes: Uint8Array, page: PageInfo, pacer: Pacer): Promise<string | null> {
  if (bytes.length !== page.bytes) return `it has ${bytes.length} bytes, written were ${page.bytes}`
  try {
    for (const _ of decodePage(bytes, page)) await pacer.turn()
    return null
  } catch (error) {
    return damageOf(error)
  }
}
