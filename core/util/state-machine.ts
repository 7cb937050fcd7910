/** The allowed next states of each state. */
export type Transitions<S extends string> = Readonly<Record<S, readonly S[]>>

/** A state that changes only by the listed transitions. */
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

  /** Changes the state. Throws the refusal, and changes nothing, if the transition is not allowed. */
  to(state: S): void {
    if (!this.#transitions[this.#current].includes(state)) throw this.#refusal(this.#current, state)
    this.#current = state
  }
}
