/**
 * The turn of a node in a duty that the nodes of a worker take in turn, one in each round. When a node is gone or frozen, only its own
 * rounds are missed.
 */
export interface Turn {
  /** From 0. */
  readonly index: number
  /** Number of nodes that take turns. */
  readonly of: number
}

/**
 * Whether a node had its turn in a round after `last`, up to `round`.
 *
 * @param last the round of the look before; undefined: this is the first look.
 */
export function hasTurn({ index, of }: Turn, last: number | undefined, round: number): boolean {
  const roundsAgo = (((round - index) % of) + of) % of
  // The clock may be set back.
  const rounds = last === undefined || last > round ? 1 : round - last
  return roundsAgo < rounds
}
