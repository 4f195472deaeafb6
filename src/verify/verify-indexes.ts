/** Checks the files of a table's indexes, and the ranges of their row mappings. */
import { corrupted } from '../errors.js'
import { isScalarKind } from '../indexes/kind.js'
import { filePath } from '../manifest/file-names.js'
import { type IndexSegment, rowsOfItem } from '../manifest/table-index.js'
import { Pacer } from '../primitives/pacer.js'
import { readWhole } from '../table/data-file.js'
import type { TableReader } from '../table/table-reader.js'
import type { TextIndexReader } from '../table/text-index.js'
import { verifyFile, verifySections } from '../table/verify-file.js'
import { damageOf } from './findings.js'
import { verifyTexts } from './verify-text.js'
import type { Verifying } from './verifying.js'

/**
 * A check of the indexes in all versions of one table. A segment or file that was checked in one version is skipped in
 * later versions.
 */
export class TableIndexes {
  readonly #verifying: Verifying
  readonly #location: string
  readonly #pacer: Pacer
  readonly #files = new Set<string>()
  readonly #segments = new WeakSet<IndexSegment>()

  constructor(verifying: Verifying, location: string) {
    this.#verifying = verifying
    this.#location = location
    this.#pacer = new Pacer(verifying.signal)
  }

  /** Check the indexes of the reader's version. `texts`: readers of the text indexes of this version. */
  async verify(reader: TableReader, texts: readonly TextIndexReader[]): Promise<void> {
    const { indexes, fragments } = reader.layout
    if (indexes.length === 0) return
    const rows = new Map(fragments.map(fragment => [fragment.id, fragment.rows]))
    for (const { name, kind, segments } of indexes) {
      const check = isScalarKind(kind) ? verifyFile : verifySections
      const text = texts.find(each => each.name === name)
      for (const segment of segments) {
        if (this.#segments.has(segment)) continue
        this.#segments.add(segment)
        await this.#once('indexes', segment.file, segment.bytes, async path => {
          await check(this.#verifying.store, path, segment, this.#pacer)
          if (text !== undefined) await verifyTexts(reader, text, path, this.#pacer)
        })
        await this.#verifyRowMapping(name, segment, rows)
      }
    }
  }

  async #verifyRowMapping(
    index: string,
    { file, rows, cover }: IndexSegment,
    fragments: ReadonlyMap<number, number>,
  ): Promise<void> {
    let end = 0
    for (const item of cover) {
      const { first, count, fragment, at, gone } = item
      const there = fragments.get(fragment) ?? Number.POSITIVE_INFINITY
      if (first < end || first + count > rows || at + rowsOfItem(item) > there) {
        const what = `index ${index} maps its rows from ${first} on to rows that do not exist`
        await this.#verifying.findings.note('index', this.#path('indexes', file), what)
      }
      end = first + count
      if (gone === undefined) continue
      await this.#once('rows', gone.file, gone.bytes, async path => {
        const bytes = await readWhole(this.#verifying.store, path, gone)
        if (bytes.length === 0) throw corrupted(`${path} is empty`)
      })
    }
  }

  async #once(
    folder: 'indexes' | 'rows',
    file: string,
    bytes: number,
    check: (path: string) => Promise<unknown>,
  ): Promise<void> {
    if (this.#files.has(file)) return
    this.#files.add(file)
    const { findings } = this.#verifying
    const path = this.#path(folder, file)
    findings.file(path, bytes)
    try {
      await check(path)
    } catch (error) {
      await findings.note('index', path, damageOf(error))
    }
    await this.#pacer.turn()
  }

  #path(folder: 'indexes' | 'rows', file: string): string {
    return `${this.#location}/${filePath(folder, file)}`
  }
}
