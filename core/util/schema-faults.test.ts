import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { schemaFaults } from './schema-faults.js'

/** Formats each fault as `path message`. */
function faults(schema: object, value: unknown): string[] {
  const validate = new Ajv({ allErrors: true, strict: false, verbose: true }).compile(schema)
  assert.equal(validate(value), false)
  return schemaFaults(validate.errors ?? []).map(({ path, message }) => `${path || 'it'} ${message}`)
}

const worker = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    concurrency: { type: 'integer' },
    placement: { type: 'object', properties: { nodes: {} }, additionalProperties: false },
  },
  additionalProperties: false,
}

test('a missing and an unknown field are named, the unknown one with a suggestion', () => {
  assert.deepEqual(faults(worker, { nam: 'a' }), ['name is required', 'nam is not a known field; did you mean "name"?'])
  assert.deepEqual(faults(worker, { name: 'a', placement: { x: 1 } }), ['placement.x is not a known field; known fields: nodes'])
  assert.deepEqual(faults({ type: 'object', additionalProperties: false }, { x: 1 }), ['x is not a known field'])
})

test('a value outside a list is reported with the list and its nearest entry', () => {
  const states = ['queued', 'running', 'done']
  const message = 'it must be one of queued, running, done; did you mean "running"?'
  assert.deepEqual(faults({ enum: states }, 'runing'), [message])
  assert.deepEqual(faults({ anyOf: states.map((state) => ({ const: state })) }, 'runing'), [message])
  assert.deepEqual(faults({ oneOf: states.map((state) => ({ type: 'string', const: state })) }, 'runing'), [message])
  assert.deepEqual(faults({ enum: states }, 7), ['it must be one of queued, running, done'])
  assert.deepEqual(faults({ const: 'queued' }, 'queed'), ['it must be queued'])
  assert.deepEqual(faults({ enum: ['', null, 1] }, 'x'), ['it must be one of "", null, 1'])
  const many = Array.from({ length: 100 }, (_, i) => `v${i}`)
  assert.deepEqual(faults({ enum: many }, true), [`it must be one of ${many.slice(0, 20).join(', ')} and 80 more`])
})

test('the branches of a union are one fault', () => {
  const nullable = { anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] }
  assert.deepEqual(faults(nullable, 7), ['it must be string or null'])
  assert.deepEqual(faults(nullable, 'x'), ['it must NOT have fewer than 2 characters'])
  assert.deepEqual(faults({ type: ['string', 'null'] }, 7), ['it must be string or null'])
  assert.deepEqual(faults({ anyOf: [{ type: 'string', const: 'all' }, { type: 'integer' }] }, true), ['it must be all or integer'])
  assert.deepEqual(faults({ anyOf: [{ anyOf: [{ const: 'a' }, { const: 'b' }] }, { type: 'null' }] }, 'c'), ['it must be a or b or null'])
  assert.deepEqual(faults({ oneOf: [{ type: 'integer' }, { type: 'number' }] }, 7), ['it must match exactly one schema in oneOf'])
  assert.deepEqual(faults({ type: 'array', items: nullable }, [true, 'ab', false]), [
    '[0] must be string or null',
    '[2] must be string or null',
  ])
})

test('for a union of objects the nearest branch is reported', () => {
  const branch = (kind: string, field: string) => ({
    type: 'object',
    required: ['kind', field],
    properties: { kind: { const: kind }, [field]: { type: 'integer' } },
  })
  const shapes = { anyOf: [branch('circle', 'radius'), branch('square', 'side'), { type: 'string' }] }
  assert.deepEqual(faults(shapes, { kind: 'square', side: 'x' }), ['side must be integer'])
  assert.deepEqual(faults(shapes, { kind: 'squar', side: 1, radius: 1 }), ['kind must be one of circle, square; did you mean "square"?'])
  assert.deepEqual(faults(shapes, 7), ['it must be object or string'])
  const either = { anyOf: [{ required: ['a'] }, { required: ['b'] }] }
  assert.deepEqual(faults(either, {}), ['a is required', 'b is required', 'it must match a schema in anyOf'])
})
