/**
 * Whether looking for one match after the other may read the same part of a text again and again.
 *
 * Every single search is linear, but a search may read far past the end of the match it finds: `a.*b|a` looks for a `b`
 * up to the end of the text each time it then takes a single `a`. It cannot, beyond a fixed length, where
 *
 * - nothing that has to come follows a repetition without end: the match is as long as what was read; or
 * - the pattern is one sequence of characters and classes, repeated or not: had what was read past the first match
 *   held a second one, the first would have gone on to its end.
 */

/** A character, class or group of a sequence. */
interface Element {
  readonly isGroup: boolean
  /** Whether it may match nothing. */
  nullable: boolean
  /** Whether it holds a repetition without end. */
  endless: boolean
  /** Whether in it something has to follow such a repetition. */
  open: boolean
  /** Whether it is a choice that holds such a repetition. */
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

/** Told of a pattern's parts in their order. */
export class RescanCheck {
  readonly #groups: Group[] = [{ alternatives: [emptySequence()] }]
  #mayRescan = false

  /** A character, class or condition. */
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
    this.#settle(sequence)
    sequence.pending = element
  }

  /** Takes up the pending element, now that no repetition follows it. */
  #settle(sequence: Sequence): void {
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
    for (const alternative of alternatives) this.#settle(alternative)
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
