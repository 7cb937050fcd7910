import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import ajvFormats from 'ajv-formats'
import { Type } from 'typebox'
import type { JsonSchema } from './route.js'
import { schemaProblems } from './schema-check.js'
import { route } from './test-support.js'

const ajv = new Ajv({ strict: false, logger: false })
ajvFormats.default(ajv)

const problemsOf = (body: unknown): readonly string[] =>
  schemaProblems(route({ method: 'POST', path: '/', body: body as JsonSchema, handler: () => 1 }))

const sound: readonly object[] = [
  {},
  { type: ['string', 'null'], minLength: 0, maxLength: 5, pattern: '^a', default: null },
  { $id: 'x', $comment: 'c', title: 't', description: 'd', examples: [1], deprecated: true, 'x-own': { any: 'thing' } },
  { type: 'array', items: [{ type: 'string' }, true], additionalItems: false, minItems: 1, uniqueItems: true, contains: { const: 1 } },
  { type: 'number', minimum: -1, exclusiveMaximum: 1.5, multipleOf: 0.5 },
  { allOf: [{ if: { required: ['a'] }, else: false }], not: { enum: [1, { a: 1 }] } },
  { properties: { items: { $ref: '#/definitions/a~1b' } }, patternProperties: { '^x': true }, definitions: { 'a/b': { type: 'null' } } },
  { dependencies: { a: ['b'], c: { minProperties: 2 } }, propertyNames: { format: 'email' }, additionalProperties: { type: 'integer' } },
  Type.Object({
    a: Type.Optional(Type.Union([Type.Literal('x'), Type.Tuple([Type.Integer(), Type.Null()])])),
    b: Type.Record(Type.String(), Type.Any()),
  }),
]

const unsound: readonly (readonly [schema: unknown, place: string])[] = [
  [{ type: 'objekt' }, '/type'],
  [{ type: [] }, '/type'],
  [{ type: ['string', 'string'] }, '/type'],
  [{ minLength: -1 }, '/minLength'],
  [{ maxItems: 1.5 }, '/maxItems'],
  [{ minimum: '1' }, '/minimum'],
  [{ multipleOf: 0 }, '/multipleOf'],
  [{ required: 'a' }, '/required'],
  [{ required: ['a', 'a'] }, '/required'],
  [{ enum: [] }, '/enum'],
  [{ enum: [{ a: 1 }, { a: 1 }] }, '/enum'],
  [{ uniqueItems: 1 }, '/uniqueItems'],
  [{ examples: 'x' }, '/examples'],
  [{ properties: [] }, '/properties'],
  [{ properties: { a: { items: { type: 'strin' } } } }, '/properties/a/items/type'],
  [{ items: [] }, '/items'],
  [{ items: [{}, 3] }, '/items/1'],
  [{ anyOf: [] }, '/anyOf'],
  [{ allOf: { type: 'string' } }, '/allOf'],
  [{ oneOf: [{ minLength: 'x' }] }, '/oneOf/0/minLength'],
  [{ not: 'x' }, '/not'],
  [{ dependencies: { a: 'b' } }, '/dependencies'],
  [{ definitions: { a: { title: 1 } } }, '/definitions/a/title'],
  ['text', 'it'],
  [[], 'it'],
]

test('a schema that Ajv accepts has no problems, and one that it rejects has a problem with its location', () => {
  for (const schema of sound) {
    assert.equal(ajv.validateSchema(schema), true, JSON.stringify(schema))
    assert.deepEqual(problemsOf(schema), [], JSON.stringify(schema))
  }
  for (const [schema, place] of unsound) {
    assert.equal(ajv.validateSchema(schema as object), false, JSON.stringify(schema))
    const problems = problemsOf(schema)
    assert.equal(problems.length, 1, `${JSON.stringify(schema)}: ${problems.join()}`)
    assert.ok(problems[0]?.startsWith(`its body schema is invalid: ${place} must `), problems[0])
  }
})

test('mistakes that Ajv ignores are problems: unknown keywords and formats, malformed expressions, unresolved references', () => {
  assert.match(problemsOf({ properties: { a: { formt: 'email' } } }).join(), /\/properties\/a has the unknown keyword "formt"/)
  assert.match(problemsOf({ contains: { format: 'emial' } }).join(), /\/contains\/format must be one of .*email.*, not "emial"/)
  assert.match(problemsOf({ pattern: '(' }).join(), /\/pattern must be a regular expression, not "\("/)
  assert.match(problemsOf({ patternProperties: { '(': {} } }).join(), /\/patternProperties must be an object .*regular expressions/)
  assert.match(problemsOf({ $ref: '#/$defs/missing' }).join(), /refers to #\/\$defs\/missing, which does not exist/)
})

test('every keyword and every format of Ajv is known', () => {
  const unknown = Object.keys(ajv.RULES.keywords).filter((keyword) =>
    problemsOf({ [keyword]: null }).some((text) => text.includes('unknown')),
  )
  assert.deepEqual(unknown, [])
  for (const format of Object.keys(ajv.formats)) assert.deepEqual(problemsOf({ format }), [])
})

test('params, query, body and responses are checked and named', () => {
  const wrong = { type: 'x' }
  const problems = schemaProblems(
    route({ method: 'POST', path: '/', params: wrong, query: wrong, body: wrong, response: { 201: wrong }, handler: () => 1 }),
  )
  assert.deepEqual(
    problems.map((problem) => problem.split(' schema')[0]),
    ['its params', 'its query', 'its body', 'its response 201'],
  )
})
