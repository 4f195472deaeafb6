/** The SQL text of the log in PostgreSQL. */
import { createHash } from 'node:crypto'

/** The statements for one table. In all of them, `$1` is the name of the root. */
export type Statements = ReturnType<typeof statementsOf>

/**
 * The checksum in the trailer of a slot (src/commit/slot.ts): 4 bytes, 24 bytes before the end. Bytes are sent to Sheaf in
 * hexadecimal, because the package `pg` does not read the binary format.
 */
const checksum = 'substring(bytes FROM octet_length(bytes) - 23 FOR 4)'

/** Maximum number of bytes of several slots that are read together. */
const bytesAtOnce = 16_000_000

/** Makes the transaction durable when it is committed, whatever the settings of the server are. */
const durably =
  "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"

/** Return the statements for a table. */
export function statementsOf(schema: string, table: string) {
  const name = `${quoted(schema)}.${quoted(table)}`
  return {
    /** `$1`: the name of the table. */
    find: 'SELECT to_regclass($1) IS NOT NULL',
    name,
    create: [
      `CREATE TABLE IF NOT EXISTS ${name} (
        root text NOT NULL,
        slot bigint NOT NULL,
        written timestamptz NOT NULL DEFAULT now(),
        bytes bytea,
        PRIMARY KEY (root, slot))`,
      // So that the checksum of a large slot is read without the other bytes.
      `ALTER TABLE ${name} ALTER COLUMN bytes SET STORAGE EXTERNAL`,
    ],
    /**
     * `$2`: slot; `$3`: bytes; `$4`: checksum of the slot before it, null: unknown; `$5`: channel. Returns whether the slot
     * was written.
     *
     * The lock on the slot before it makes a concurrent trim wait. So while the row is inserted, no trim has passed it. A
     * key share lock is not enough: a trim only updates slot 1.
     */
    append: `WITH before AS (
        SELECT FROM ${name}
        WHERE root = $1 AND slot = $2::bigint - 1 AND bytes IS NOT NULL AND ($4::bytea IS NULL OR ${checksum} = $4)
        FOR SHARE
      ), written AS (
        INSERT INTO ${name} (root, slot, bytes)
        SELECT $1, $2, $3::bytea WHERE $2 = 0 OR EXISTS (SELECT FROM before)
        ON CONFLICT DO NOTHING
        RETURNING pg_notify($5, '')
      )
      SELECT (SELECT count(*) FROM written) = 1, ${durably}`,
    /**
     * `$2`: slot; `$3`: bytes. Returns whether the slot was written. Slot 1 decides between several writers. It stays empty if
     * it is not the first slot.
     */
    begin: `WITH first AS (
        INSERT INTO ${name} (root, slot, bytes) SELECT $1, 1, CASE WHEN $2::bigint = 1 THEN $3::bytea END
        ON CONFLICT DO NOTHING
        RETURNING slot
      ), written AS (
        INSERT INTO ${name} (root, slot, bytes) SELECT $1, $2, $3 FROM first WHERE $2 > 1
      )
      SELECT (SELECT count(*) FROM first) = 1, ${durably}`,
    /**
     * `$2`: first slot; `$3`: last slot. Returns the slots, and the checksum of the slot before them. After the first slot,
     * returns null instead of bytes that do not fit in `bytesAtOnce`.
     */
    read: `SELECT slot, encode(CASE
        WHEN slot < $2::bigint THEN ${checksum}
        WHEN slot = $2 OR sum(octet_length(bytes)) OVER (ORDER BY slot) <= ${bytesAtOnce} THEN bytes
      END, 'hex')
      FROM ${name}
      WHERE root = $1 AND slot BETWEEN $2::bigint - 1 AND $3::bigint AND bytes IS NOT NULL`,
    /** `$2`: slot. */
    checksum: `SELECT encode(${checksum}, 'hex') FROM ${name} WHERE root = $1 AND slot = $2 AND bytes IS NOT NULL`,
    /** `$2`: slot. */
    written: `SELECT extract(epoch FROM written)::float8 FROM ${name} WHERE root = $1 AND slot = $2`,
    /** `$2`: the last slot is searched after this one. */
    last: `SELECT slot FROM ${name} WHERE root = $1 AND slot > $2 AND bytes IS NOT NULL ORDER BY slot DESC LIMIT 1`,
    first: `SELECT slot FROM ${name} WHERE root = $1 AND slot > 0 AND bytes IS NOT NULL ORDER BY slot LIMIT 1`,
    /** `$2`: slot. Its row stays, so that no slot can be written under its number again. */
    empty: `UPDATE ${name} SET bytes = NULL WHERE root = $1 AND slot = $2`,
    /** `$2`: last slot to trim. Returns one row if slot 1 was trimmed. */
    trimFirst: `UPDATE ${name} SET bytes = NULL
      WHERE root = $1 AND slot = 1 AND $2::bigint >= 1 AND bytes IS NOT NULL
        AND EXISTS (SELECT FROM ${name} WHERE root = $1 AND slot > 1)
      RETURNING true`,
    /** `$2`: last slot to trim; `$3`: maximum number of slots. Returns a row for each deleted row: whether it had a slot. */
    trim: `WITH old AS (
        SELECT slot FROM ${name}
        WHERE root = $1 AND slot BETWEEN 2 AND $2 AND slot < (SELECT max(slot) FROM ${name} WHERE root = $1)
        ORDER BY slot LIMIT $3 FOR UPDATE
      )
      DELETE FROM ${name} AS trimmed USING old
      WHERE trimmed.root = $1 AND trimmed.slot = old.slot
      RETURNING trimmed.bytes IS NOT NULL`,
    /** The statement that makes the session receive the notifications of a channel. */
    listen: (channel: string) => `LISTEN ${quoted(channel)}`,
  }
}

/** Return the channel of the notifications of a root. */
export function channelOf(schema: string, table: string, root: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([schema, table, root]))
    .digest('hex')
  return `sheaf_${hash.slice(0, 32)}`
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}
