/** Why a record is not run. */
export class Skip extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

/** A statement that no dialect has. */
export class NoStatement extends Error {}
