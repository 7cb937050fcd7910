/** For each state those that may follow it. */
export type Transitions<S extends string> = Readonly<Record<S, readonly S[]>>

/** A state that changes by listed transitions alone. */
export class StateMachine<S extends string> {
  readonly #transitions: Transitions<S>
  readonly #refusal: (from: S, to: S) => Error
  #current: S

  constructor(first: S, transitions: Transitions<S>, refusal: (from: S, to: S) => Error) {
    this.#current = first
    this.#transitions = transitions
    this.#refusal = refusal
  }

  get current(): S {
    return this.#current
  }

  /** Throws the refusal, and changes nothing, when the present state does not lead to `state`. */
  to(state: S): void {
    if (!this.#transitions[this.#current].includes(state)) throw this.#refusal(this.#current, state)
    this.#current = state
  }
}
