/** Two measurements taken one after the other, such as requests per second. */
export interface Round<T = number> {
  readonly baseline: T
  readonly measured: T
}

/** Measures two sides alternately. The order changes from round to round, so that neither always comes second. */
export async function inTurn<T>(count: number, baseline: () => Promise<T>, measured: () => Promise<T>): Promise<readonly Round<T>[]> {
  const rounds: Round<T>[] = []
  for (let round = 0; round < count; round++) {
    const first = round % 2 === 0 ? await baseline() : undefined
    const second = await measured()
    rounds.push({ baseline: first ?? (await baseline()), measured: second })
  }
  return rounds
}

/** The median; the upper one of an even number of values; NaN if there are none. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

export const medianRatio = (rounds: readonly Round[]): number => median(rounds.map(({ baseline, measured }) => measured / baseline))
