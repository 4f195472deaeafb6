/** Divides the rows of a version into the units of an exact search (spread.ts). */
import type { Fragment, Layout } from '../manifest/layout.js'

/** Minimum number of rows of a unit, except the last unit. Measuring fewer rows costs less than asking another node. */
const unitRows = 128 * 1024

/** The units of each manifest. Manifests never change. */
const units = new WeakMap<Layout, readonly (readonly Fragment[])[]>()

/** Return the fragments of each unit of a version, in row order. */
export function exactUnits(layout: Layout): readonly (readonly Fragment[])[] {
  let known = units.get(layout)
  if (known === undefined) {
    known = dividedInto(unitRows, layout)
    units.set(layout, known)
  }
  return known
}

/** Divide the fragments of a version into runs of at least `least` rows. */
export function dividedInto(
  least: number,
  { fragments }: Pick<Layout, 'fragments'>,
): readonly (readonly Fragment[])[] {
  const all: Fragment[][] = []
  let rows = least
  for (const fragment of fragments) {
    if (rows >= least) {
      all.push([])
      rows = 0
    }
    all.at(-1)!.push(fragment)
    rows += fragment.rows
  }
  return all
}
