/** The commands that read and write rows, and their options, as data. `commands.ts` adds them to the other commands. */

const commitLog = {
  type: 'logUrl',
  help: 'URL of the log in PostgreSQL (default: the log is in the files)',
} as const

/** Options of commands that also take the URL of a server. */
const connection = {
  'commit-log': commitLog,
  'api-key': { type: 'secret', help: 'for the URL of a server: value of the header x-api-key' },
  token: { type: 'secret', help: 'for the URL of a server: token for the header Authorization: Bearer' },
  database: { type: 'text', help: 'for the URL of a server: value of the header x-lancedb-database' },
} as const

/** Options that choose the version to read. */
const version = {
  version: { type: 'count', help: 'number of the version to read (default: the newest)' },
  tag: { type: 'text', help: 'tag of the version to read' },
} as const

const where = { type: 'text', help: 'SQL condition for the rows (default: all rows)' } as const
const select = {
  type: 'list',
  help: 'columns, or SQL expressions with a name: "id,upper(name) AS title" (default: all columns)',
} as const
const orderBy = { type: 'list', help: 'columns to order by, each with asc or desc: "year desc,id"' } as const

const rootUrl = `<directory> may also be a bucket such as s3://bucket/prefix, or the URL of a server such as http://127.0.0.1:2333.
A name of a table with namespaces has $ between its parts: ns1$t. Put it in single quotes.`

const secretNote =
  'Every user of the machine can read secrets on a command line, so pass them in SHEAF_API_KEY or SHEAF_TOKEN.'

export const dataCommands = {
  query: {
    operands: '<directory> <table>',
    does: 'Prints the rows of a table, or the answer of an SQL query on it. Changes nothing.',
    more: `${rootUrl}
Arrow is written as an Arrow IPC file. JSON has one object per line.
${secretNote}`,
    options: {
      where,
      select,
      'group-by': {
        type: 'list',
        help: 'columns or SQL expressions; with --select "city,count(*) AS n", one row per group',
      },
      having: { type: 'text', help: 'SQL condition for the groups' },
      'order-by': orderBy,
      limit: { type: 'count', help: 'maximum number of rows (default all)' },
      offset: { type: 'whole', help: 'number of rows to skip (default 0)' },
      ...version,
      format: { type: 'answerFormat', help: 'format of the rows (default table on a terminal, else json)' },
      ...connection,
    },
  },
  head: {
    operands: '<directory> <table>',
    does: 'Prints the first rows of a table. Changes nothing.',
    more: rootUrl,
    options: {
      limit: { type: 'count', help: 'maximum number of rows (default 10)' },
      ...version,
      format: { type: 'answerFormat', help: 'format of the rows (default table on a terminal, else json)' },
      ...connection,
    },
  },
  diff: {
    operands: '<directory> <table> <from> <to>',
    does: 'Shows the rows and columns that differ between two versions of a table. Changes nothing.',
    more: `<from> and <to> are numbers of versions, or tags. A row is the same row in both versions if it has the same _rowid.
In JSON, each line has kind: schema, added, removed or changed.
${rootUrl}`,
    options: {
      limit: {
        type: 'whole',
        help: 'maximum number of rows of each kind to show (default: 20 as text, all as json)',
      },
      format: { type: 'diffFormat', help: 'format of the output (default text on a terminal, else json)' },
      ...connection,
    },
  },
  import: {
    operands: '<source>... <directory>',
    does: 'Imports files into a table of <directory>, in one commit. Imports tables of LanceDB with their tags and indexes.',
    more: `A source is a file, a pattern such as 'data/*.csv', or a directory, whose files are read in the order of their names.
The content of a file says which format it has: CSV, JSON lines, an Arrow IPC file or stream, Parquet, SQLite, or an index
file of hnswlib. CSV, JSON lines, Arrow and Parquet may be gzipped. A folder that LangChain's HNSWLib store saved is one source.
A directory of LanceDB, or the folder <name>.lance of one table, gives new tables with the newest rows. --table names one of them.
create makes a new table; its columns come from the first file. append and upsert need a table, which has the types.
upsert updates the rows that have the same --key, and inserts all other rows.
Rows are uploaded in parts and become visible together, at the end. After an interruption, run the same command again: it reads
the sources again, and sends only the missing parts. A file .sheaf-import-<id>.json beside the first source keeps the state.
Bad rows do not fit the format or the types. Each line of the file of --rejects has file, line, error and data of a bad row.
${rootUrl}
${secretNote}`,
    options: {
      table: {
        type: 'text',
        help: 'name of the table (default: the name of --source-table, or of the source without its extension)',
      },
      mode: { type: 'importMode', help: 'effect on the table (default create)' },
      key: { type: 'texts', help: 'with --mode upsert: key columns' },
      vector: {
        type: 'vectors',
        help: 'with --mode create: columns that hold vectors, and their dimensions; may be repeated',
      },
      types: {
        type: 'columnTypes',
        help: 'with --mode create: types of columns (default inferred); may be repeated: --types zip:string',
      },
      format: { type: 'sourceFormat', help: 'format of the sources (default: told from the content)' },
      'source-table': {
        type: 'text',
        help: 'table or view of a SQLite file to read (default: its only table)',
      },
      delimiter: { type: 'delimiter', help: 'delimiter of CSV, or tab (default: told from the first line)' },
      columns: { type: 'texts', help: 'names of the columns of CSV without a header line' },
      nulls: { type: 'texts', help: 'cells of CSV that mean null, as an empty cell does: NA,NULL' },
      'bad-rows': {
        type: 'badRows',
        help: 'what a bad row does: end the import, or be left out (default fail)',
      },
      rejects: {
        type: 'path',
        help: 'with --bad-rows skip: file for the bad rows, as JSON lines; it is replaced',
      },
      'part-size': { type: 'size', positive: true, help: 'size of the parts of the upload (default 64MiB)' },
      restart: { type: 'flag', help: 'discard what an interrupted run of the same command has sent' },
      ...connection,
    },
  },
  export: {
    operands: '<directory> <table> <file>',
    does: 'Writes the rows of a table to a file: .csv, .tsv, .jsonl or .arrow, also with .gz, or .parquet; or to a .lance folder.',
    more: `An existing file is replaced when the new file is complete. If the command fails, <file> stays as it was.
A .lance folder is a table for LanceDB. It must not exist. Indexes are not written.
${rootUrl}`,
    options: {
      where,
      select,
      'order-by': orderBy,
      limit: { type: 'count', help: 'maximum number of rows (default all)' },
      ...version,
      format: { type: 'fileFormat', help: 'format of the file (default: by its name)' },
      delimiter: { type: 'delimiter', help: 'delimiter of CSV, or tab (default a comma; for .tsv a tab)' },
      ...connection,
    },
  },
} as const
