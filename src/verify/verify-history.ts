/**
 * Checks the history pages of a checkpoint: their bytes, and that their records agree with the slots that still exist.
 * A page that was merged from older pages does not have the records of expired versions.
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
      await findings.note(
        'page',
        pageKey(page),
        `it begins with slot ${page.from}, but must begin with slot ${next}`,
      )
    }
    next = page.to + 1
    await verifyPage(verifying, page, live, pacer)
    await pacer.turn()
  }
  findings.progress('history', pages.length, pages.length)
  if (next !== checkpoint.slot + 1) {
    await findings.note(
      'page',
      '_hist/',
      `the pages end at slot ${next - 1}, but must end at slot ${checkpoint.slot}`,
    )
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

/**
 * Add the problem that a page is damaged. `fault`: description of the damage. `expected`: the page as it was rebuilt
 * from the slots; null if this is not possible. The page is repairable if the rebuilt page has the same name, which
 * contains the checksum.
 */
export async function noteDamage(
  { findings, store }: Verifying,
  page: PageInfo,
  fault: string,
  expected: Rebuilt | null,
): Promise<void> {
  const key = pageKey(page)
  const what =
    expected === null
      ? `${fault}; it cannot be rebuilt, because some of its slots were trimmed or are damaged`
      : fault
  const isSame = expected?.page.name === page.name
  await findings.note('page', key, what, isSame ? () => replaced(store, key, expected.bytes) : undefined)
}

/** By table and version: the version record as JSON. */
type Records = ReadonlyMap<
  string,
  { readonly table: string; readonly version: number; readonly text: string }
>

/**
 * Compare the records of a page with the records that were rebuilt from the slots (`expected`). Returns a description
 * of the first difference. Returns null if all records of the page are right, and no live version is missing.
 */
function differenceIn(records: Records, expected: Records, isLive: IsLive): string | null {
  for (const [key, { table, version, text }] of records) {
    if (expected.get(key)?.text !== text)
      return `its record of version ${version} of table ${table} differs from the log`
  }
  for (const [key, { table, version }] of expected) {
    if (!records.has(key) && isLive(table, version))
      return `it has no record of version ${version} of table ${table}, which still exists`
  }
  return null
}

/**
 * Rebuild a page from its slots. Returns null if slots are missing or damaged, which `verifyLog` and `verifyPacks`
 * report.
 */
export async function rebuilt({ slots }: Verifying, page: PageInfo): Promise<Rebuilt | null> {
  try {
    return await rebuild(page, slots)
  } catch (error) {
    damageOf(error)
    return null
  }
}

/** Decode a page. Returns its records, or a description of the damage (`fault`). */
export async function recordsIn(
  bytes: Uint8Array,
  page: PageInfo,
  pacer: Pacer,
): Promise<
  { readonly records: Records; readonly fault: null } | { readonly records: null; readonly fault: string }
> {
  if (bytes.length !== page.bytes) {
    return { records: null, fault: `it has ${bytes.length} bytes, but must have ${page.bytes}` }
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
