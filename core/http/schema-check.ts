import type { Ajv } from 'ajv'

/** Keywords whose value is one schema, a list of schemas, or a map of schemas. */
const single = [
  'additionalProperties',
  'items',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'additionalItems',
  'unevaluatedProperties',
  'unevaluatedItems',
]
const lists = ['allOf', 'anyOf', 'oneOf', 'items', 'prefixItems']
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']

/** Keywords that say something to readers and nothing to a validator. */
const notes = ['example', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'discriminator', 'contentMediaType', 'contentEncoding']

/**
 * What is wrong with a schema: its form, unknown keywords and formats, references that lead nowhere. It costs microseconds
 * where compiling costs a millisecond, so every schema is checked at boot and compiled when first used.
 */
export function schemaProblems(ajv: Ajv, schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return ['is not an object']
  if (ajv.validateSchema(schema) !== true) {
    const error = ajv.errors?.[0]
    return [`${error?.instancePath || 'it'} ${error?.message ?? 'is invalid'}`]
  }
  const problems: string[] = []
  visit(ajv, schema as SchemaObject, schema as SchemaObject, '', problems)
  return problems
}

type SchemaObject = Readonly<Record<string, unknown>>

function visit(ajv: Ajv, schema: unknown, root: SchemaObject, at: string, problems: string[]): void {
  if (typeof schema !== 'object' || schema === null) return
  const node = schema as SchemaObject
  for (const keyword of Object.keys(node)) {
    // Not getKeyword: it does not know the keywords that only describe, such as `description` and `default`.
    const known = keyword in ajv.RULES.keywords || lists.includes(keyword) || single.includes(keyword) || maps.includes(keyword)
    if (!known && !notes.includes(keyword) && !keyword.startsWith('x-')) problems.push(`${at || 'it'} has the unknown keyword "${keyword}"`)
  }
  const { format, $ref, pattern } = node
  for (const expression of [pattern, ...Object.keys(node.patternProperties ?? {})]) {
    if (typeof expression === 'string' && !isRegExp(expression)) problems.push(`${at || 'it'} has the malformed pattern "${expression}"`)
  }
  if (typeof format === 'string' && !(format in ajv.formats)) problems.push(`${at || 'it'} has the unknown format "${format}"`)
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !resolves(root, $ref))
    problems.push(`${at || 'it'} refers to ${$ref}, which is not there`)
  for (const key of single) if (!Array.isArray(node[key])) visit(ajv, node[key], root, `${at}/${key}`, problems)
  for (const key of lists) {
    const list = node[key]
    if (Array.isArray(list)) for (const [i, entry] of list.entries()) visit(ajv, entry, root, `${at}/${key}/${i}`, problems)
  }
  for (const key of maps)
    for (const [name, entry] of Object.entries(node[key] ?? {})) visit(ajv, entry, root, `${at}/${key}/${name}`, problems)
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

function resolves(root: SchemaObject, ref: string): boolean {
  let node: unknown = root
  for (const part of ref.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false
    node = (node as SchemaObject)[key]
  }
  return true
}
