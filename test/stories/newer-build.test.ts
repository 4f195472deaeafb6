/**
 * Two builds share a root, and the newer one commits something the older does not know. The older one may neither skip it nor
 * write after it: it stops with a message that says what to do, and what it read before that stays true.
 */
import { expect, test } from 'vitest'
import { decodeSlot, encodeSlot } from '../../src/commit/slot.js'
import { connect } from '../../src/index.js'
import { crcHex } from '../../src/primitives/checksum.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

const slotKey = (slot: number) => `_log/${String(slot).padStart(20, '0')}`

test('the older build stops at the newer slot, and says why', async () => {
  const store = new MemoryStore('memory://story')
  const old = await connect('memory://', { store })
  await old.createNamespace('a')
  const { crc, header } = decodeSlot((await store.get(slotKey(1)))!, 1, new Set())
  const entry = { txn: crypto.randomUUID(), req: [], ops: [{ op: 'teleport' }] }
  const next = {
    need: ['teleport'],
    slot: 2,
    prev: crcHex(crc),
    by: 'newer',
    ts: header.ts,
    entries: [entry],
  }
  await store.put(slotKey(2), encodeSlot(next, [JSON.stringify(entry)], []).bytes)

  const stopped = {
    code: 0,
    message: expect.stringContaining('slot 2 was written by a newer Sheaf'),
    hint: expect.stringContaining('open this root with the version of Sheaf that wrote it'),
  }
  await expect(old.namespaceNames()).rejects.toMatchObject(stopped)
  await expect(old.createNamespace('b')).rejects.toMatchObject(stopped)
  await expect(connect('memory://', { store })).rejects.toMatchObject(stopped)
  expect(await store.get(slotKey(3))).toBeNull()
})
