/** The kinds of jobs in the log. The code of a kind is loaded with its first job. */
import { indexJob, indexJobOf } from '../catalog/index-builds.js'
import type { CatalogState } from '../catalog/state.js'
import type { CustomTokenizer } from '../indexes/text/analysis/analyzer.js'
import type { JobKind } from '../jobs/job-kind.js'
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
): readonly JobKind<CatalogState>[] {
  const backfills = [null, ...functions].map(backfillJobOf)
  const indexes = [indexJob, ...tokenizers.map(({ name }) => indexJobOf(name))]
  return [
    ...backfills.map(
      (name): JobKind<CatalogState> => ({
        name,
        onOrphan: 'requeue',
        run: async job => (await importBackfill()).backfill(engine, job),
      }),
    ),
    ...indexes.map(
      (name): JobKind<CatalogState> => ({
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
