/** The kinds of jobs in the log. The code of a kind is loaded with its first job. */
import { indexJob, indexJobOf } from '../catalog/index-builds.js'
import type { CatalogJobKind } from '../catalog/log-types.js'
import type { CustomTokenizer } from '../indexes/text/analysis/analyzer.js'
import { lazyImport } from '../lazy-import.js'
import type { Engine } from '../root/engine.js'
import { backfillJobOf, refreshJob } from '../root/job-names.js'
import type { ColumnFunction } from '../write/functions.js'

const importBackfill = lazyImport(() => import('./backfill.js'))
const importIndexBuild = lazyImport(() => import('./index-build.js'))
const importViewRefresh = lazyImport(() => import('./view-refresh.js'))

/** List the kinds of jobs. A process without a function or tokenizer leaves its jobs to processes that have it. */
export function jobKinds(
  engine: Engine,
  functions: readonly ColumnFunction[],
  tokenizers: readonly CustomTokenizer[],
): readonly CatalogJobKind[] {
  const backfills = [null, ...functions].map(backfillJobOf)
  const indexes = [indexJob, ...tokenizers.map(({ name }) => indexJobOf(name))]
  return [
    ...backfills.map(
      (name): CatalogJobKind => ({
        name,
        onOrphan: 'requeue',
        run: async job => (await importBackfill()).backfill(engine, job),
      }),
    ),
    ...indexes.map(
      (name): CatalogJobKind => ({
        name,
        onOrphan: 'requeue',
        run: async job => (await importIndexBuild()).buildIndex(engine, job),
      }),
    ),
    {
      name: refreshJob,
      exclusive: true,
      onOrphan: 'requeue',
      run: async job => (await importViewRefresh()).refreshView(engine, job),
    },
  ]
}
