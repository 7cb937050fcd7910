/**
 * The turn of a node in a task that the nodes of a worker perform in rotation, one per round. If a node is gone or frozen, only its own
 * rounds are missed.
 */
export interface Turn {
  /** From 0. */
  readonly index: number
  /** Number of nodes in the rotation. */
  readonly of: number
}

/**
 * Whether it was a node's turn in a round after `last`, up to `round`.
 *
 * @param last the round of the previous call; undefined on the first one.
 */
export function hasTurn({ index, of }: Turn, last: number | undefined, round: number): boolean {
  const roundsAgo = (((round - index) % of) + of) % of
  // The clock may have been set back.
  const rounds = last === undefined || last > round ? 1 : round - last
  return roundsAgo < rounds
}
