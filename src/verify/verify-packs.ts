/**
 * Checks the packs. A pack contains slots that were trimmed from the log. All bytes of a pack are checked, and that its
 * slots form a chain.
 */
import { catalogMachine } from '../catalog/apply.js'
import { type PackInfo, packKey } from '../commit/packs.js'
import { decodeSlot } from '../commit/slot.js'
import { crcHex } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { damageOf } from './findings.js'
import { mustBeThere, type Verifying } from './verifying.js'

/**
 * Check all packs. `crc`: checksum of slot 0; null: unknown. A slot in the range of a pack may be absent from the pack.
 * That is not a problem here. If another check of the verification needs the slot, that check reports the problem.
 */
export async function verifyPacks(verifying: Verifying, crc: number | null): Promise<void> {
  const { findings, packs, signal } = verifying
  const pacer = new Pacer(signal)
  let next = 1
  let before = crc
  for (const pack of packs.infos) {
    const key = packKey(pack)
    if (pack.from !== next)
      await findings.note('pack', key, `it begins with slot ${pack.from}, but must begin with slot ${next}`)
    next = pack.to + 1
    try {
      before = await verifyPack(verifying, pack, before, pacer)
    } catch (error) {
      before = null
      await findings.note('pack', key, damageOf(error))
    }
  }
}

/**
 * Check a pack. `before`: checksum of the slot before the first slot of the pack; null: unknown. Returns the checksum
 * of the last slot of the pack, or null if it is unknown.
 */
async function verifyPack(
  verifying: Verifying,
  pack: PackInfo,
  before: number | null,
  pacer: Pacer,
): Promise<number | null> {
  const { findings, store } = verifying
  const key = packKey(pack)
  const stat = await store.stat(key, pacer.signal)
  if (stat === null) await mustBeThere(verifying)
  findings.file(key, stat?.size ?? 0)
  if (stat?.size !== pack.bytes) {
    const what = stat === null ? 'it is missing' : `it has ${stat.size} bytes, but must have ${pack.bytes}`
    await findings.note('pack', key, what)
    return null
  }
  return verifySlotsIn(verifying, pack, before, pacer)
}

/**
 * Check the slots of a pack that exists and has the right length. Parameters and result are those of `verifyPack`.
 * Throws Internal if the index of the pack is not readable.
 */
export async function verifySlotsIn(
  { findings, packs }: Verifying,
  pack: PackInfo,
  before: number | null,
  pacer: Pacer,
): Promise<number | null> {
  const key = packKey(pack)
  const chain = await packs.chainOf(pack)
  const prevOf = (number: number) => (number === pack.from ? before : chain[number - pack.from - 1]!)
  for (const number of await packs.numbersIn(pack)) {
    try {
      const { crc, header } = decodeSlot((await packs.readIn(pack, number))!, number, catalogMachine.features)
      const [own, prev] = [chain[number - pack.from]!, prevOf(number)]
      if (crc !== own) {
        await findings.note(
          'pack',
          key,
          `its slot ${number} has the checksum ${crcHex(crc)}, but its chain says ${crcHex(own)}`,
        )
      } else if (prev !== null && header.prev !== crcHex(prev)) {
        await findings.note(
          'pack',
          key,
          `its slot ${number} does not follow the previous slot: its prev is ${header.prev}, but the previous slot has the checksum ${crcHex(prev)}`,
        )
      }
    } catch (error) {
      await findings.note('pack', key, damageOf(error))
    }
    await pacer.turn()
  }
  return chain.at(-1)!
}
