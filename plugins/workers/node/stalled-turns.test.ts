import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasTurn, type Turn } from './stalled-turns.js'

const alone: Turn = { index: 0, of: 1 }
const second: Turn = { index: 1, of: 3 }

describe('the turn of a node', () => {
  const rows: readonly (readonly [title: string, turn: Turn, last: number | undefined, round: number, has: boolean])[] = [
    ['comes in every round when it is alone', alone, 7, 8, true],
    ['comes once in a round', alone, 8, 8, false],
    ['comes in the first look', alone, undefined, 8, true],
    ['comes in its own round', second, 6, 7, true],
    ['does not come in the rounds of others', second, 7, 8, false],
    ['does not come in the first look when that is the round of another', second, undefined, 8, false],
    ['comes when its round was skipped', second, 6, 8, true],
    ['comes once when several of its rounds were skipped', second, 1, 99, true],
    ['comes in its own round when the clock was set back', second, 99, 7, true],
    ['does not come in the rounds of others when the clock was set back', second, 99, 8, false],
  ]
  for (const [title, turn, last, round, has] of rows) it(title, () => assert.equal(hasTurn(turn, last, round), has))

  it('comes to exactly one node in each round', () => {
    for (let round = 100; round < 110; round++) {
      const having = [0, 1, 2, 3].filter((index) => hasTurn({ index, of: 4 }, round - 1, round))
      assert.deepEqual(having, [round % 4])
    }
  })
})
