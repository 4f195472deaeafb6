/** Two families of clients say the same thing in different words: both are understood, and both find theirs in replies. */
import { describe, expect, test } from 'vitest'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import { readRequest, writeReply } from '../../src/protocol/wire.js'

interface Sent {
  readonly query?: string
  readonly body?: unknown
}

function understood(name: OperationName, { query = '', body }: Sent): unknown {
  const entry: OperationEntry = operations[name]
  const segments = { id: 't', ...('index_name' in entry.request.fields && { index_name: 'i' }) }
  return parse(entry.request, readRequest(entry, { segments, query: new URLSearchParams(query), body }), name)
}

const text = { match: { terms: 'a', column: 'c', operator: 'And' as const } }

/** What LanceDB's remote client sends, and what a client of the specification does. */
const same: readonly (readonly [name: OperationName, remote: Sent, specified: Sent])[] = [
  [
    'queryTable',
    { body: { k: 2, vector: [1, 2], version: null, ef: null, refine_factor: null, prefilter: true } },
    { body: { k: 2, vector: { single_vector: [1, 2] }, prefilter: true } },
  ],
  [
    'queryTable',
    { body: { k: 2, vector: [[1], [2]] } },
    { body: { k: 2, vector: { multi_vector: [[1], [2]] } } },
  ],
  ['queryTable', { body: { k: 2, vector: [] } }, { body: { k: 2, vector: { single_vector: [] } } }],
  [
    'queryTable',
    { body: { k: 1, vector: [], columns: ['a', 'b'] } },
    { body: { k: 1, vector: null, columns: { column_names: ['a', 'b'] } } },
  ],
  [
    'queryTable',
    { body: { k: 1, vector: [], columns: { b: 'a * 2' } } },
    { body: { k: 1, vector: null, columns: { column_aliases: { b: 'a * 2' } } } },
  ],
  [
    'queryTable',
    { body: { k: 1, vector: [], full_text_query: { query: text } } },
    { body: { k: 1, vector: null, full_text_query: { structured_query: { query: text } } } },
  ],
  [
    'queryTable',
    { body: { k: 1, vector: [], full_text_query: { columns: null, query: 'a' } } },
    { body: { k: 1, vector: null, full_text_query: { string_query: { query: 'a' } } } },
  ],
  [
    'queryTable',
    {
      body: {
        k: 1,
        vector: [],
        full_text_query: { query: { multi_match: { query: 'a', columns: ['c', 'd'], boost: [1, 2] } } },
      },
    },
    {
      body: {
        k: 1,
        vector: null,
        full_text_query: {
          structured_query: {
            query: {
              multi_match: {
                match_queries: [
                  { terms: 'a', column: 'c', boost: 1 },
                  { terms: 'a', column: 'd', boost: 2 },
                ],
              },
            },
          },
        },
      },
    },
  ],
  [
    'queryTable',
    { body: { k: 2 ** 63, vector: [] } },
    { body: { k: Number.MAX_SAFE_INTEGER, vector: null } },
  ],
  [
    'createTableIndex',
    { body: { column: 'v', index_type: 'IVF_PQ', metric_type: 'l2', num_bits: null, replace: false } },
    { body: { column: 'v', index_type: 'IvfPq', distance_type: 'L2', replace: false } },
  ],
  [
    'createTableIndex',
    {
      body: {
        column: 'c',
        index_type: 'FTS',
        custom_stop_words: null,
        min_ngram_length: 2,
        max_ngram_length: 3,
      },
    },
    { body: { column: 'c', index_type: 'INVERTED', ngram_min_length: 2, ngram_max_length: 3 } },
  ],
  [
    'renameTable',
    { body: { new_table_name: 'u', new_namespace: ['n'] } },
    { body: { id: ['t'], new_table_name: 'u', new_namespace_id: ['n'] } },
  ],
  ['createNamespace', { body: { mode: '"ExistOk"' } }, { body: { id: ['t'], mode: 'ExistOk' } }],
  [
    'dropNamespace',
    { body: { mode: '"Skip"', behavior: '"Cascade"' } },
    { body: { mode: 'Skip', behavior: 'Cascade' } },
  ],
  ['updateTable', { body: { predicate: null, updates: [['a', '1']] } }, { body: { updates: [['a', '1']] } }],
  ['countTableRows', { body: { predicate: 'a', version: null } }, { query: 'predicate=a' }],
  ['describeTable', { body: { version: null } }, { body: { id: ['t'] } }],
  ['listTableVersions', {}, { body: null }],
  ['listTables', { query: 'limit=5&page_token=a' }, { query: 'page_token=a&limit=5', body: { id: ['t'] } }],
  ['mergeInsertIntoTable', { query: 'on=a&use_lsm=true' }, { query: 'on=a' }],
  ['createTable', { query: 'mode=exist_ok' }, { query: 'mode=ExistOk' }],
  [
    'alterTableAlterColumns',
    { body: { alterations: [{ path: 'a', data_type: { type: 'int32' } }] } },
    { body: { alterations: [{ path: 'a', data_type: 'int32' }] } },
  ],
  ['getTableLsmStats', { body: { include_generation_rows: false } }, {}],
]

describe('both forms of a request are equal', () => {
  test.each(same)('%s %j, and as specified %j', (name, remote, specified) => {
    expect(understood(name, remote)).toStrictEqual(understood(name, specified))
  })
})

/** A reply, and what it looks like to both. */
const replies: readonly (readonly [name: OperationName, reply: unknown, sent: unknown])[] = [
  ['updateTable', { updated_rows: 2, version: 3 }, { updated_rows: 2, rows_updated: 2, version: 3 }],
  [
    'createTableIndex',
    { transaction_id: 'x', index_name: 'i' },
    { transaction_id: 'x', job_id: 'x', index_name: 'i' },
  ],
  ['createTableIndex', { index_name: 'i' }, { index_name: 'i' }],
  ['countTableRows', 8, 8],
  ['explainTableQueryPlan', 'Scan', 'Scan'],
  ['updateTableSchemaMetadata', { metadata: { a: 'b' } }, { a: 'b' }],
]

test.each(replies)('a reply of %s, %j, is sent as %j', (name, reply, sent) => {
  expect(JSON.parse(JSON.stringify(writeReply(operations[name], reply)))).toStrictEqual(sent)
})
