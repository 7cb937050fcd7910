import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkDecision, checkFilter } from './check.js'
import type { NewDecision } from './contract.js'

const fine: NewDecision = { kind: 'scale', subject: 'worker:a', verdict: 'up', acted: false, reason: 'Up', rule: 'autoscale/backlog' }
const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic

const malformed: readonly (readonly [title: string, fields: Readonly<Record<string, unknown>>, message: RegExp])[] = [
  ['a kind in capitals', { kind: 'Scale' }, /"kind" must be/],
  ['a kind of 41 characters', { kind: 'k'.repeat(41) }, /"kind" must be/],
  ['a subject without a type', { subject: 'email-sender' }, /"subject" must be/],
  ['a subject with a space', { subject: 'worker:email sender' }, /"subject" must be/],
  ['a subject of 201 characters', { subject: `worker:${'a'.repeat(194)}` }, /"subject" must be/],
  ['no verdict', { verdict: undefined }, /"verdict" must be/],
  ['acted as text', { acted: 'true' }, /"acted" must be/],
  ['an empty reason', { reason: ' ' }, /"reason" must be/],
  ['a reason of two lines', { reason: 'a\nb' }, /"reason" must be/],
  ['a reason with half a surrogate pair', { reason: 'a\ud800' }, /"reason" must be/],
  ['a reason of 501 characters', { reason: 'a'.repeat(501) }, /"reason" must be/],
  ['inputs that are a list', { inputs: [] }, /"inputs" must be an object/],
  ['inputs beyond 4 KiB', { inputs: { text: 'é'.repeat(2100) } }, /"inputs" has 4211 bytes of JSON; the maximum is 4096/],
  ['inputs with a cycle', { inputs: cyclic }, /cannot be serialized/],
  ['inputs that turn into text', { inputs: { toJSON: () => 'text' } }, /"inputs" must be an object/],
  ['a rule without its plugin', { rule: 'backlog' }, /"rule" must be/],
  ['an unknown actor', { actor: { kind: 'robot', id: 'r', via: 'plugin' } }, /"actor" must be/],
  ['an actor with unknown fields', { actor: { kind: 'user', id: 'u', via: 'http', token: 't' } }, /"actor" must be/],
  ['a link to elsewhere', { links: { site: 'https://example.com' } }, /"links" must be/],
  ['eleven links', { links: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`l${index}`, '/api'])) }, /"links" must be/],
]

describe('a decision', () => {
  for (const [title, fields, message] of malformed)
    it(`with ${title} is refused`, () => {
      assert.throws(() => checkDecision({ ...fine, ...fields } as NewDecision), { code: 'DECISION_INVALID', message })
    })

  it('that is not an object is refused', () => {
    for (const none of [null, undefined, 'text']) assert.throws(() => checkDecision(none as never), { code: 'DECISION_INVALID' })
  })

  it('keeps its own actor, and drops unknown fields', () => {
    const actor = { kind: 'user', id: 'u1', via: 'cli' } as const
    assert.deepEqual(checkDecision({ ...fine, actor, more: 1 } as NewDecision), { ...fine, actor })
  })
})

describe('a filter of decisions', () => {
  for (const [field, value] of [
    ['subject', 'email-sender'],
    ['kind', 'Scale'],
    ['since', -1],
    ['since', Number.NaN],
    ['page', 0],
    ['page', 1.5],
    ['limit', 101],
  ] as const)
    it(`is refused with ${field} ${value}`, () => {
      assert.throws(() => checkFilter({ [field]: value }), { code: 'INVALID_DECISIONS_QUERY', message: new RegExp(`"${field}" must be`) })
    })
})
