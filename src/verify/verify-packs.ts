/** Checks the packs that stand for slots which were trimmed from the log: every byte, and that their slots form a chain. */
import { catalogMachine } from '../catalog/apply.js'
import { type PackInfo, packKey } from '../commit/packs.js'
import { decodeSlot } from '../commit/slot.js'
import { crcHex } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { damageOf } from './findings.js'
import { mustBeThere, type Verifying } from './verifying.js'

/** Check all packs. `crc`: checksum of slot 0, null if unknown. A slot that is in no pack is reported by the step that needs it. */
export async function verifyPacks(verifying: Verifying, crc: number | null): Promise<void> {
  const { findings, packs, signal } = verifying
  const pacer = new Pacer(signal)
  let next = 1
  let before = crc
  for (const pack of packs.infos) {
    const key = packKey(pack)
    if (pack.from !== next)
      await findings.note('pack', key, `it begins with slot ${pack.from}, not with slot ${next}`)
    next = pack.to + 1
    try {
      before = await verifyPack(verifying, pack, before, pacer)
    } catch (error) {
      before = null
      await findings.note('pack', key, damageOf(error))
    }
  }
}

/** Check a pack. Returns the checksum of its last slot, null if unknown. `before`: checksum of the slot before its first. */
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
    const what = stat === null ? 'it is missing' : `it has ${stat.size} bytes, but ${pack.bytes} were written`
    await findings.note('pack', key, what)
    return null
  }
  return verifySlotsIn(verifying, pack, before, pacer)
}

/** As `verifyPack`, for a pack that exists and has the right length. Throws Internal if its index is not readable. */
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
          `slot ${number} in it is ${crcHex(crc)}, but its chain says ${crcHex(own)}`,
        )
      } else if (prev !== null && header.prev !== crcHex(prev)) {
        await findings.note('pack', key, `slot ${number} in it does not follow the slot before`)
      }
    } catch (error) {
      await findings.note('pack', key, damageOf(error))
    }
    await pacer.turn()
  }
  return chain.at(-1)!
}
