/**
 * Routes that some clients use, and for which there is no operation. Requests get Unsupported (406). The reply to an
 * unknown path (404) would tell the client that the table does not exist.
 */
import type { Route } from './operations.js'

export const unservedRoutes: readonly Route[] = [
  'POST /v1/table/{id}/clone',
  'POST /v1/table/{id}/branches/diff',
  'POST /v1/table/{id}/branches/cherry_pick',
  'POST /v1/table/{id}/branches/merge',
  'POST /v1/table/{id}/flush_lsm',
  'POST /v1/table/{id}/compact_lsm',
  'POST /v1/table/{id}/set_lsm_write_spec',
  'POST /v1/table/{id}/unset_lsm_write_spec',
  'POST /v1/jobs/query_events',
  'POST /v1/functions/create',
  'POST /v1/functions/get',
  'POST /v1/view/{id}/{action}',
  'GET /v1/namespace/{id}/view/list',
  'POST /v1/secret/{id}/{action}',
  'GET /v1/namespace/{id}/secret/list',
  'POST /v1/function/{id}/{action}',
  'GET /v1/namespace/{id}/function/list',
]
