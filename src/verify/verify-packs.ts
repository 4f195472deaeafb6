/** Checks the packs that stand for slots which are gone from the log: every byte, and that they follow each other. */
import { catalogMachine } from '../catalog/apply.js'
import { type PackInfo, packKey } from '../commit/packs.js'
import { decodeSlot } from '../commit/slot.js'
import { crcHex } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { damageOf } from './findings.js'
import { mustBeThere, type Verifying } from './verifying.js'

/** `crc`: of slot 0; null: not known. A slot that is in no pack is missed by who needs it. */
export async function verifyPacks(verifying: Verifying, crc: number | null): Promise<void> {
  const { findings, packs, signal } = verifying
  const pacer = new Pacer(signal)
  let next = 1
  let before = crc
  for (const pack of packs.infos) {
    const key = packKey(pack)
    if (pack.from !== next) await findings.note('pack', key, `it follows a pack that ends before ${next}`)
    next = pack.to + 1
    try {
      before = await verifyPack(verifying, pack, before, pacer)
    } catch (error) {
      before = null
      await findings.note('pack', key, damageOf(error))
    }
  }
}

/** Gives the checksum of its last slot, null where it is not known; `before`: of the slot before its first. */
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
    const what = stat === null ? 'it is missing' : `it has ${stat.size} bytes, written were ${pack.bytes}`
    await findings.note('pack', key, what)
    return null
  }
  return verifySlotsIn(verifying, pack, before, pacer)
}

/** The same for a pack that is there, and as long as it says. Throws corrupted (code 18) where its index cannot be read. */
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
          `slot ${number} in it is ${crcHex(crc)}, its chain says ${crcHex(own)}`,
        )
      } else if (prev !== null && header.prev !== crcHex(prev)) {
        await findings.note('pack', key, `slot ${number} in it does not follow the one before`)
      }
    } catch (error) {
      await findings.note('pack', key, damageOf(error))
    }
    await pacer.turn()
  }
  return chain.at(-1)!
}
