import type { RouteCors } from './options.js'
import { type Policy, policyOf, policyProblem } from './policy.js'

const fields = ['origins', 'credentials']

/** Returns what is wrong with the field `cors` of a route. */
export function routeCorsProblem(value: unknown): string | undefined {
  if (value === false) return undefined
  if (typeof value !== 'object' || value === null) return 'must be false or { origins, credentials }'
  const { origins, credentials } = value as Readonly<Record<string, unknown>>
  const unknownField = Object.keys(value).find((name) => !fields.includes(name))
  if (unknownField !== undefined) return `has the unknown field "${unknownField}"; it has only origins and credentials`
  const isList = Array.isArray(origins) && origins.every((origin) => typeof origin === 'string')
  if (typeof origins !== 'string' && !isList) return 'must have "origins", a text or a list of texts'
  if (credentials !== undefined && typeof credentials !== 'boolean') return 'has "credentials" that is neither true nor false'
  return policyProblem(value as Exclude<RouteCors, false>)
}

/** Compiles the fields of routes, each once. */
export class RoutePolicies {
  readonly #compiled = new WeakMap<object, Policy>()

  of(field: Exclude<RouteCors, false>): Policy {
    const known = this.#compiled.get(field)
    if (known !== undefined) return known
    const policy = policyOf(field)
    this.#compiled.set(field, policy)
    return policy
  }
}
