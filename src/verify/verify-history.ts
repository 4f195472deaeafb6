/**
 * Checks that the pages of the history hold what was written and say what the log says, as far as the log still has it. A page
 * that was merged from others leaves out records of versions that nobody can ask for any more.
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
      await findings.note('page', pageKey(page), `it follows a page that ends before ${next}`)
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

/** Notes that a page is not what was written. It is made again where the slots make the very same; `right`: what they make. */
export async function noteDamage(
  { findings, store }: Verifying,
  page: PageInfo,
  fault: string,
  right: Rebuilt | null,
): Promise<void> {
  const key = pageKey(page)
  const what = right === null ? `${fault}; slots that it was made of are gone` : fault
  const isSame = right?.page.name === page.name
  await findings.note('page', key, what, isSame ? () => replaced(store, key, right.bytes) : undefined)
}

/** Records by table and version, as JSON. */
type Records = ReadonlyMap<
  string,
  { readonly table: string; readonly version: number; readonly text: string }
>

/** What a page says otherwise than the slots it was made of; null where every record is theirs, and none of a live version is left out. */
function differenceIn(records: Records, right: Records, isLive: IsLive): string | null {
  for (const [key, { table, version, text }] of records) {
    if (right.get(key)?.text !== text)
      return `its record of version ${version} of table ${table} is not what the log says`
  }
  for (const [key, { table, version }] of right) {
    if (!records.has(key) && isLive(table, version))
      return `it lacks version ${version} of table ${table}, which is there`
  }
  return null
}

/** Null where slots are gone from the log, or damaged, which was told with them. */
export async function rebuilt({ slots }: Verifying, page: PageInfo): Promise<Rebuilt | null> {
  try {
    return await rebuild(page, slots)
  } catch (error) {
    damageOf(error)
    return null
  }
}

/** The records of a page whose checksums are right, or what is wrong with its bytes. */
export async function recordsIn(
  bytes: Uint8Array,
  page: PageInfo,
  pacer: Pacer,
): Promise<
  { readonly records: Records; readonly fault: null } | { readonly records: null; readonly fault: string }
> {
  if (bytes.length !== page.bytes) {
    return { records: null, fault: `it has ${bytes.length} bytes, written were ${page.bytes}` }
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
