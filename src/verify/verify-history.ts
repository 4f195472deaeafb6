/**
 * Checks that the pages of the history hold what was written, and agree with the log as far as the log still exists. A page that was
 * merged from others leaves out records of versions that no reader can ask for any more.
 */
import type { CatalogState } from '../catalog/state.js'
import type { Checkpoint } from '../commit/checkpoints.js'
import { pagesOf } from '../maintenance/checkpoint-extra.js'
import { type PageInfo, type Rebuilt, rebuild } from '../manifest/history.js'
import { decodePage, pageKey } from '../manifest/history-page.js'
import type { Runs } from '../manifest/runs.js'
import { Pacer } from '../primitives/pacer.js'
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
  const live = liveVersions(checkpoint.state)
  let next = 1
  for (const [i, page] of pages.entries()) {
    findings.progress('history', i, pages.length)
    if (page.from !== next) {
      await findings.note('page', pageKey(page), `it begins with slot ${page.from}, not with slot ${next}`)
    }
    next = page.to + 1
    await verifyPage(verifying, page, live, pacer)
    await pacer.turn()
  }
  findings.progress('history', pages.length, pages.length)
  if (next !== checkpoint.slot + 1) {
    await findings.note('page', '_hist/', `the pages end at slot ${next - 1}, not at ${checkpoint.slot}`)
  }
}

const noBytes = new Uint8Array(0)

type IsLive = (table: string, version: number) => boolean

function liveVersions({ tables, detached }: CatalogState): IsLive {
  const live = new Map<string, Runs>()
  for (const heads of [tables, detached]) for (const [, head] of heads) live.set(head.uuid, head.live)
  return (table, version) =>
    live.get(table)?.some(([first, last]) => first <= version && version <= last) === true
}

async function verifyPage(verifying: Verifying, page: PageInfo, isLive: IsLive, pacer: Pacer): Promise<void> {
  const { findings, store } = verifying
  const key = pageKey(page)
  const right = await rebuilt(verifying, page)
  const isAsFirstWritten = right?.page.name === page.name
  // A page without records has no file.
  const bytes = page.bytes === 0 ? noBytes : await store.get(key, pacer.signal)
  if (bytes === null) await mustBeThere(verifying)
  if (page.bytes > 0) findings.file(key, bytes?.length ?? 0)
  const { records, fault } =
    bytes === null ? { records: null, fault: 'it is missing' } : await recordsIn(bytes, page, pacer)
  if (fault !== null) return noteDamage(verifying, page, fault, right)
  if (right === null || isAsFirstWritten) return
  const { records: all } = await recordsIn(right.bytes, right.page, pacer)
  const wrong = differenceIn(records!, all!, isLive)
  if (wrong !== null) await findings.note('page', key, wrong)
}

/** Note that the bytes of a page are not those written. It can be repaired if the page rebuilt from the slots (`expected`) is the very same. */
export async function noteDamage(
  { findings, store }: Verifying,
  page: PageInfo,
  fault: string,
  expected: Rebuilt | null,
): Promise<void> {
  const key = pageKey(page)
  const what =
    expected === null ? `${fault}; slots from which it was built were trimmed or are damaged` : fault
  const isSame = expected?.page.name === page.name
  await findings.note('page', key, what, isSame ? () => replaced(store, key, expected.bytes) : undefined)
}

/** Records by table and version, as JSON. */
type Records = ReadonlyMap<
  string,
  { readonly table: string; readonly version: number; readonly text: string }
>

/** Return how a page differs from the slots it was built from; null if every record agrees, and no live version is missing. */
function differenceIn(records: Records, expected: Records, isLive: IsLive): string | null {
  for (const [key, { table, version, text }] of records) {
    if (expected.get(key)?.text !== text)
      return `its record of version ${version} of table ${table} differs from the log`
  }
  for (const [key, { table, version }] of expected) {
    if (!records.has(key) && isLive(table, version))
      return `it lacks version ${version} of table ${table}, which still exists`
  }
  return null
}

/** Rebuild a page from its slots; null if slots are gone or damaged, which `verifyLog` or `verifyPacks` notes. */
export async function rebuilt({ slots }: Verifying, page: PageInfo): Promise<Rebuilt | null> {
  try {
    return await rebuild(page, slots)
  } catch (error) {
    damageOf(error)
    return null
  }
}

/** Return the records of a page whose checksums are right, or what is wrong with its bytes. */
export async function recordsIn(
  bytes: Uint8Array,
  page: PageInfo,
  pacer: Pacer,
): Promise<
  { readonly records: Records; readonly fault: null } | { readonly records: null; readonly fault: string }
> {
  if (bytes.length !== page.bytes) {
    return { records: null, fault: `it has ${bytes.length} bytes, but ${page.bytes} were written` }
  }
  const found = new Map<string, { table: string; version: number; text: string }>()
  try {
    for (const [table, records] of page.bytes === 0 ? [] : decodePage(bytes, page)) {
      for (const record of records) {
        const { version } = record
        found.set(`${table} ${version}`, { table, version, text: JSON.stringify(record) })
      }
      await pacer.turn()
    }
    return { records: found, fault: null }
  } catch (error) {
    return { records: null, fault: damageOf(error) }
  }
}
