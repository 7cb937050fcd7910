/**
 * Returns the candidate nearest to a mistyped `word`, or `undefined` if none is near enough:
 * at most a third of the longer word may differ (two swapped letters count as one difference), and at most `most` letters. Case is
 * ignored.
 *
 * @example
 * suggest('onJobStrat', ['onJobStart', 'onScale']) // 'onJobStart'
 */
export function suggest(word: string, candidates: Iterable<string>, most = Number.POSITIVE_INFINITY): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const limit = Math.min(most, Math.floor(Math.max(word.length, candidate.length) / 3))
    if (Math.abs(word.length - candidate.length) > limit) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance > limit || distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** Counts the insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let twoAbove: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replace = at(above, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      let cost = Math.min(replace, at(above, column) + 1, at(current, column - 1) + 1)
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) cost = Math.min(cost, at(twoAbove, column - 2) + 1)
      current.push(cost)
    }
    twoAbove = above
    above = current
  }
  return at(above, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
