/** Rows as callers give them, as Arrow. Who only reads gives none: what makes them is loaded with the first. */
import { later } from '../later.js'
import type { ArrowRows } from './arrow-rows.js'
import type { TableRowsOptions } from './table-rows.js'

const making = later(() => import('./table-rows.js'))

/** As `tableRows`. */
export async function givenRows(data: object, options: TableRowsOptions): Promise<ArrowRows> {
  const { tableRows } = await making()
  return tableRows(data, options)
}
