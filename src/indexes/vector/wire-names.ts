/** Defines the wire names of the parameters of vector indexes. */
import type { CreateIndexRequest } from '../../protocol/index-shapes.js'
import type { VectorParameters } from './kind.js'

/** The wire name of each parameter. Definitions store the parameters in this order. */
export const wireNames = {
  partitions: 'num_partitions',
  targetPartitionSize: 'target_partition_size',
  subVectors: 'num_sub_vectors',
  bits: 'num_bits',
  sampleRate: 'sample_rate',
  maxIterations: 'max_iterations',
  m: 'm',
  efConstruction: 'ef_construction',
} as const satisfies Record<keyof VectorParameters, keyof CreateIndexRequest>
