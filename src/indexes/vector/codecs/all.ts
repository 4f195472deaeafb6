/** Trains and opens all codecs, by name. */
import type { TrainEach } from '../../../kernels/clusters.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { Codec, CodecName, CodecSettings } from '../codec.js'
import { openBinary, trainBinary } from './binary.js'
import { openBits, trainBits } from './bits.js'
import { openFlat, trainFlat } from './flat.js'
import { openProduct, trainProduct } from './product.js'
import { openScalar, trainScalar } from './scalar.js'

interface CodecKind {
  train(
    settings: CodecSettings,
    sample: Float32Array,
    rows: number,
    pacer: Pacer,
    trainEach?: TrainEach,
  ): Promise<Codec>
  open(dim: number, parameters: Uint8Array): Codec
  readonly ofResiduals: boolean
}

const kinds: Readonly<Record<CodecName, CodecKind>> = {
  flat: { train: trainFlat, open: openFlat, ofResiduals: false },
  scalar: { train: trainScalar, open: openScalar, ofResiduals: false },
  product: { train: trainProduct, open: openProduct, ofResiduals: true },
  binary: { train: trainBinary, open: openBinary, ofResiduals: true },
  bits: { train: trainBits, open: openBits, ofResiduals: false },
}

/**
 * Train a codec on a sample of `rows` vectors, at least one. If `codesResiduals(name)`, the sample consists of
 * residuals. `trainEach`: trains centroids; default: in the calling thread.
 */
export function trainCodec(
  settings: CodecSettings,
  sample: Float32Array,
  rows: number,
  pacer: Pacer,
  trainEach?: TrainEach,
): Promise<Codec> {
  return kinds[settings.name].train(settings, sample, rows, pacer, trainEach)
}

/** Restore a codec from its parameters. Throws Internal if `parameters` are invalid. */
export function openCodec(name: CodecName, dim: number, parameters: Uint8Array): Codec {
  return kinds[name].open(dim, parameters)
}

/** Return whether a codec encodes residuals (`Codec.ofResiduals`). */
export function codesResiduals(name: CodecName): boolean {
  return kinds[name].ofResiduals
}
