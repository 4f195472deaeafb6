/**
 * Check whether searching for one match after another may read the same part of a text many times.
 *
 * A single search is linear, but it may read far past the match it finds. For example, `a.*b|a` searches for a `b` up
 * to the end of the text, and then takes a single `a`, for each match. Rescans are limited to a fixed length in two
 * cases:
 *
 * - No required part follows an unbounded repetition. Then the match is as long as the text that was read.
 * - The pattern is one sequence of characters and classes, repeated or not. If the text after the first match contained
 *   a second match, the first match would have extended to its end.
 */

/** A character, class or group of a sequence. */
interface Element {
  readonly isGroup: boolean
  /** Whether it may match the empty text. */
  nullable: boolean
  /** Whether it contains an unbounded repetition. */
  endless: boolean
  /** Whether a required part follows such a repetition inside it. */
  open: boolean
  /** Whether it is an alternation that contains such a repetition. */
  isChoice: boolean
}

interface Sequence {
  nullable: boolean
  endless: boolean
  open: boolean
  isChoice: boolean
  pending: Element | null
}

interface Group {
  readonly alternatives: Sequence[]
}

/** Receives the parts of a pattern in order. */
export class RescanCheck {
  readonly #groups: Group[] = [{ alternatives: [emptySequence()] }]
  #mayRescan = false

  /** A character, class or assertion. */
  atom(): void {
    this.#add({ isGroup: false, nullable: false, endless: false, open: false, isChoice: false })
  }

  open(): void {
    this.#groups.push({ alternatives: [emptySequence()] })
  }

  close(): void {
    const group = this.#groups.length > 1 ? this.#groups.pop() : undefined
    if (group !== undefined) this.#add(this.#closed(group))
  }

  alternative(): void {
    this.#groups.at(-1)!.alternatives.push(emptySequence())
  }

  /** The last part is repeated. */
  repeat(least: number, greatest: number): void {
    const { pending } = this.#sequence()
    if (pending === null) return
    const isEndless = greatest === Number.POSITIVE_INFINITY
    if (pending.isGroup && (isEndless || pending.endless)) this.#mayRescan = true
    if (least === 0) pending.nullable = true
    if (isEndless) pending.endless = true
  }

  finish(): boolean {
    const whole = this.#closed(this.#groups[0]!)
    return this.#mayRescan || (this.#groups[0]!.alternatives.length > 1 && whole.open)
  }

  #sequence(): Sequence {
    return this.#groups.at(-1)!.alternatives.at(-1)!
  }

  #add(element: Element): void {
    const sequence = this.#sequence()
    this.#mergePending(sequence)
    sequence.pending = element
  }

  /** Merge the pending element into the sequence, now that no repetition can follow. */
  #mergePending(sequence: Sequence): void {
    const element = sequence.pending
    sequence.pending = null
    if (element === null) return
    if (!element.nullable) {
      sequence.nullable = false
      if (sequence.endless) sequence.open = true
      if (sequence.isChoice) this.#mayRescan = true
    }
    sequence.endless ||= element.endless
    sequence.open ||= element.open
    sequence.isChoice ||= element.isChoice
  }

  #closed({ alternatives }: Group): Element {
    for (const alternative of alternatives) this.#mergePending(alternative)
    const isChoice = alternatives.length > 1
    const endless = alternatives.some(alternative => alternative.endless)
    const open = alternatives.some(alternative => alternative.open)
    if (isChoice && open) this.#mayRescan = true
    return {
      isGroup: true,
      nullable: alternatives.some(alternative => alternative.nullable),
      endless,
      open,
      isChoice: (isChoice && endless) || alternatives.some(alternative => alternative.isChoice),
    }
  }
}

function emptySequence(): Sequence {
  return { nullable: true, endless: false, open: false, isChoice: false, pending: null }
}
