import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import { itemOf, type OwnedFact, type Tracked } from './item.js'
import { type Found, isRaised, mostOfKind, track } from './track.js'

const hourMs = 3_600_000
const t0 = 500_000 * hourMs

const fact = (subject: string, more: Partial<OwnedFact> = {}): OwnedFact => ({
  plugin: 'p',
  kind: 'k',
  subject,
  cause: `${subject} does not work`,
  act: { label: 'Open', href: '/console' },
  ...more,
})
const found = (facts: readonly OwnedFact[], more: Partial<Found> = {}): Found => ({ facts, notChecked: [], failed: new Set(), ...more })
const subjects = (list: readonly Tracked[]): readonly string[] => list.map(({ subject }) => subject)

describe('facts over time', () => {
  it('are raised once, keep their id and their start, and clear once', () => {
    const first = track([], found([fact('a')]), t0)
    const second = track(first.after, found([fact('a', { cause: 'worse', count: 7 })]), t0 + 60_000)
    const third = track(second.after, found([]), t0 + 120_000)
    assert.deepEqual([subjects(first.raised), subjects(second.raised), subjects(third.raised)], [['a'], [], []])
    assert.deepEqual([subjects(second.cleared), subjects(third.cleared)], [[], ['a']])
    const [one] = second.after
    assert.deepEqual([one?.id, one?.since, one?.cause, one?.count], [first.after[0]?.id, t0, 'worse', 7])
    assert.deepEqual(third.after.filter(isRaised), [])
  })

  it('are raised only after they have lasted long enough, counted from their own start if they have one', () => {
    const late = [fact('new', { afterMs: 20_000 }), fact('old', { afterMs: 20_000, since: t0 - 30_000 })]
    const first = track([], found(late), t0)
    assert.deepEqual(subjects(first.raised), ['old'])
    const second = track(first.after, found(late), t0 + 20_000)
    assert.deepEqual(subjects(second.raised), ['new'])
    const gone = track(first.after, found([]), t0 + 10_000)
    assert.deepEqual(subjects(gone.cleared), ['old'])
  })

  it('stay as they were while they are not checked', () => {
    const { after } = track([], found([fact('a'), fact('b', { kind: 'other' }), fact('c', { plugin: 'q' })]), t0)
    const partly = track(after, found([], { notChecked: [{ plugin: 'p', kind: 'k', reason: 'no response' }] }), t0 + 1)
    assert.deepEqual([subjects(partly.cleared).toSorted(), subjects(partly.after.filter(isRaised))], [['b', 'c'], ['a']])
    const without = track(after, found([], { failed: new Set(['p']) }), t0 + 1)
    assert.deepEqual([subjects(without.cleared), subjects(without.after.filter(isRaised))], [['c'], ['a', 'b']])
  })

  it('have a bar of 24 hours with the highest count of each, also of earlier episodes', () => {
    let list = track([], found([fact('a', { count: 2 })]), t0).after
    list = track(list, found([fact('a', { count: 5 })]), t0 + 1).after
    list = track(list, found([]), t0 + 2).after
    list = track(list, found([fact('a', { count: 3 })]), t0 + 2 * hourMs).after
    const bar = (now: number) => itemOf(list[0] as Tracked, now, undefined).bar
    assert.deepEqual([bar(t0 + 2 * hourMs).length, bar(t0 + 2 * hourMs).slice(-3)], [24, [5, 0, 3]])
    assert.deepEqual(bar(t0 + 26 * hourMs - 1).slice(0, 2), [3, 0])
  })

  it('keep their start while they last, also if a process that knows it only since its own start reports them', () => {
    const first = track([], found([fact('a', { since: t0 - hourMs })]), t0).after
    const later = track(first, found([fact('a', { since: t0 + 1 })]), t0 + 1).after
    const earlier = track(later, found([fact('a', { since: t0 - 2 * hourMs })]), t0 + 2).after
    const unknown = track(earlier, found([fact('a')]), t0 + 3).after
    assert.deepEqual(
      [first, later, earlier, unknown].map(([one]) => (one?.since ?? 0) - t0),
      [-hourMs, -hourMs, -2 * hourMs, -2 * hourMs],
    )
    const back = track(track(unknown, found([]), t0 + 4).after, found([fact('a', { since: t0 + 5 })]), t0 + 5).after
    assert.equal(back[0]?.since, t0 + 5)
  })

  it('begin a new episode when they come back', () => {
    const first = track([], found([fact('a')]), t0).after
    const again = track(track(first, found([]), t0 + 1).after, found([fact('a')]), t0 + 2)
    assert.deepEqual([subjects(again.raised), again.after[0]?.firstAt, again.after[0]?.since], [['a'], t0 + 2, t0 + 2])
  })

  it('of one kind are summed up beyond a number, and texts are bounded', () => {
    const many = Array.from({ length: mostOfKind + 900 }, (_, n) => fact(`a${n}`, { cause: 'x\n'.repeat(1_000) }))
    const { after } = track([], found(many), t0)
    const sum = after.find(({ subject }) => subject === 'app:others')
    assert.deepEqual([after.length, sum?.count], [mostOfKind + 1, 900])
    assert.ok(after.every(({ cause }) => cause.length <= 500 && !cause.includes('\n')))
  })

  it('every raise is followed by at most one clear, whatever is found', () => {
    const look = fc.record({ here: fc.subarray(['a', 'b', 'c']), fails: fc.boolean(), later: fc.integer({ min: 1, max: 2 * hourMs }) })
    fc.assert(
      fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
        let list: readonly Tracked[] = []
        let at = t0
        const open = new Set<string>()
        for (const { fails, here, later } of looks) {
          at += later
          const step = track(list, fails ? found([], { failed: new Set(['p']) }) : found(here.map((one) => fact(one))), at)
          for (const { subject } of step.raised) assert.ok(!open.has(subject)), open.add(subject)
          for (const { subject } of step.cleared) assert.ok(open.delete(subject))
          list = step.after
          assert.deepEqual(new Set(subjects(list.filter(isRaised))), open)
          if (!fails) assert.deepEqual(open, new Set(here))
        }
      }),
    )
  })
})
