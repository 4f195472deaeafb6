/** The options of `sheaf serve`, and the command `sheaf view`, as data. `commands.ts` adds them to the other commands. */

export const commitLog = {
  type: 'logUrl',
  help: 'URL of the log in PostgreSQL (default: the log is in the files)',
} as const

export const serveOptions = {
  port: { type: 'port', help: 'port to listen on; 0: any free port (default 2333)' },
  host: { type: 'address', help: 'address to listen on (default 127.0.0.1)' },
  'base-path': { type: 'text', help: 'path before /v1 (default none)' },
  databases: {
    type: 'flag',
    help: 'serve every directory below <directory> as a database; clients name it in x-lancedb-database',
  },
  'create-databases': {
    type: 'flag',
    help: 'with --databases: create a missing database when a request names it',
  },
  'default-database': {
    type: 'text',
    help: 'with --databases: database for requests without a database name',
  },
  'allow-anonymous': {
    type: 'flag',
    help: 'allow an address that other machines can reach although callers need no credentials',
  },
  'allow-host': {
    type: 'texts',
    help: 'further host names to answer to; without authentication, other names are refused (default localhost and the address)',
  },
  'allow-origin': {
    type: 'texts',
    help: 'origins of web pages that may call the server, for example https://app.example (default none)',
  },
  balancer: {
    type: 'text',
    help: 'URL of the load balancer of all servers of the root, to which the server sends parts of large searches (default none)',
  },
  'api-keys': { type: 'secrets', help: 'secrets accepted in x-api-key; may be repeated' },
  'api-keys-file': { type: 'path', help: 'file with these secrets, as lines name=secret or as JSON' },
  tokens: { type: 'secrets', help: 'secrets accepted in Authorization: Bearer; may be repeated' },
  'tokens-file': { type: 'path', help: 'file with these secrets, as lines name=secret or as JSON' },
  grant: {
    type: 'grants',
    help: 'with --databases: databases that the owner of a key or token may open, * for all; may be repeated',
  },
  'jwks-url': {
    type: 'text',
    help: 'URL of the public keys of JSON Web Tokens, which are accepted in Authorization: Bearer',
  },
  'jwt-issuer': { type: 'text', help: 'with --jwks-url: required issuer (iss) of a token (default any)' },
  'jwt-audience': {
    type: 'text',
    help: 'with --jwks-url: required audience (aud) of a token (default any)',
  },
  'jwt-databases-claim': {
    type: 'text',
    help: 'with --jwks-url and --databases: claim with the databases that the owner of a token may open (default none)',
  },
  'max-body': {
    type: 'size',
    positive: true,
    help: 'maximum size of a request body (default 16GiB; JSON at most 16MiB)',
  },
  'max-message': {
    type: 'size',
    positive: true,
    help: 'maximum size of one message of an Arrow body (default 1GiB)',
  },
  'max-uploads': {
    type: 'size',
    positive: true,
    help: 'memory for decoding all uploads together (default 1GiB)',
  },
  'max-open-uploads': {
    type: 'count',
    help: 'maximum number of open uploads in parts per caller (default 1000)',
  },
  'max-open-upload-bytes': {
    type: 'size',
    positive: true,
    help: 'maximum size of the open uploads in parts per caller (default 1TiB)',
  },
  'max-open-upload-age': {
    type: 'time',
    positive: true,
    help: 'time for which the server accepts parts of an upload (default 24h)',
  },
  'max-connections': { type: 'count', help: 'maximum number of open connections (default 10000)' },
  'max-in-flight': { type: 'count', help: 'maximum number of calls in progress (default 1024)' },
  'max-in-flight-per-caller': {
    type: 'count',
    help: 'maximum number of calls in progress per caller (default no separate limit)',
  },
  'max-streams': { type: 'count', help: 'maximum number of open streams of changes (default 256)' },
  'request-timeout': { type: 'time', positive: true, help: 'time limit for a call (default forever)' },
  'pause-timeout': {
    type: 'time',
    positive: true,
    help: 'time for which a client may stop sending or reading (default 60s)',
  },
  'context-prefix': {
    type: 'texts',
    help: 'prefixes of header fields with the context of a call (default x-sheaf-ctx-,x-ns-ctx-,x-lance-ctx-)',
  },
  prewarm: {
    type: 'texts',
    help: 'tables to load into the cache before /readyz answers 200, or all (default none)',
  },
  drain: {
    type: 'time',
    help: 'time after a signal in which /readyz answers 503 and the server still accepts requests (default 0s)',
  },
  'read-only': { type: 'flag', help: 'refuse all writes, and change no file' },
  workers: {
    type: 'threads',
    help: 'worker threads that read and search, 1 to 64; the first also writes (default: no workers, one thread)',
  },
  'cache-bytes': {
    type: 'size',
    help: 'size of the cache (default a quarter of the memory, at most 1GiB)',
  },
  'cache-dir': {
    type: 'directory',
    help: 'local directory for copies of files in object storage (default none)',
  },
  'cache-disk-bytes': {
    type: 'size',
    positive: true,
    help: 'maximum size of the files in --cache-dir (default 4GiB)',
  },
  'max-staleness': {
    type: 'time',
    help: 'maximum age of the state that queries in object storage use (default 0s: the newest state)',
  },
  'keep-versions': {
    type: 'time',
    help: 'time for which old versions without a tag are kept (default 7d)',
  },
  maintenance: {
    type: 'maintenance',
    help: 'elsewhere: no maintenance and no jobs in this process, because sheaf work does them (default here)',
  },
  log: {
    type: 'log',
    help: 'format of the request log (default text on a terminal, else json)',
  },
  'commit-log': commitLog,
} as const

type ServeOptionName = keyof typeof serveOptions

/** The options of `serve` that `view` has, too. */
const shared = [
  'port',
  'host',
  'base-path',
  'allow-anonymous',
  'allow-host',
  'allow-origin',
  'api-keys',
  'api-keys-file',
  'tokens',
  'tokens-file',
  'jwks-url',
  'jwt-issuer',
  'jwt-audience',
  'max-connections',
  'max-in-flight',
  'max-in-flight-per-caller',
  'request-timeout',
  'pause-timeout',
  'prewarm',
  'drain',
  'cache-bytes',
  'cache-dir',
  'cache-disk-bytes',
  'log',
] as const satisfies readonly ServeOptionName[]

export const viewCommand = {
  operands: '<directory>',
  does: 'Serves <directory> over HTTP for reading: a directory of LanceDB, one of its tables, or a root.',
  more: `<directory> may also be a bucket such as s3://bucket/prefix.
No file of <directory> is changed. Clients see the versions that LanceDB, or another process, writes later.
A write of a client fails with status 403. To write, use LanceDB itself, or sheaf serve for a root.
SIGTERM, SIGINT or SIGHUP stops the server as it stops sheaf serve. The address is printed on standard output.
Every user of the machine can read secrets on a command line, so pass them in a file or a variable.`,
  options: Object.fromEntries(shared.map(name => [name, serveOptions[name]])) as Pick<
    typeof serveOptions,
    (typeof shared)[number]
  >,
} as const
