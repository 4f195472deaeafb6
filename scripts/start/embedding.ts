/**
 * Converts texts to vectors without a model: TF-IDF weights of words and of their prefixes, hashed into a fixed number
 * of dimensions (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009). Vectors have the
 * length 1.
 */

type Embed = (text: string) => Float32Array

/** Count in how many of `texts` each feature occurs. Returns a function that converts a text to a vector. */
export function trainEmbedding(texts: readonly string[], dimensions: number): Embed {
  const documents = new Map<string, number>()
  for (const text of texts) {
    for (const feature of new Set(features(text))) documents.set(feature, (documents.get(feature) ?? 0) + 1)
  }
  return text => {
    const counts = new Map<string, number>()
    for (const feature of features(text)) counts.set(feature, (counts.get(feature) ?? 0) + 1)
    const vector = new Float32Array(dimensions)
    for (const [feature, count] of counts) {
      const rarity = Math.log((texts.length + 1) / ((documents.get(feature) ?? 0) + 0.5))
      const hash = hashOf(feature)
      const sign = hash & 1 ? 1 : -1
      vector[(hash >>> 1) % dimensions]! += sign * (1 + Math.log(count)) * rarity
    }
    const length = Math.hypot(...vector) || 1
    return vector.map(value => value / length)
  }
}

/**
 * Yield the features of a text: its words, and the prefixes of long words, which are often the same for inflected
 * forms.
 */
function* features(text: string): Generator<string> {
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]{2,30}/gu)) {
    yield word
    if (word.length > 5) yield `${word.slice(0, 5)}*`
  }
}

/** Hash a text (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
