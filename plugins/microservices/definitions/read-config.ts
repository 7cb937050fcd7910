import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { messageOf, type Static } from 'zin'
import { targetProblem } from '../calls/target.js'
import { serviceConfig } from '../schema.js'

export type ServiceConfig = Static<typeof serviceConfig>

/** Parses and validates the text of one service.config.json; returns all problems at once. */
export type ConfigReader = (text: string) => { readonly config: ServiceConfig } | { readonly problems: readonly string[] }

/** Compiles the schema and returns a reader that uses it. */
export function configReader(): ConfigReader {
  const validate: ValidateFunction<ServiceConfig> = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(serviceConfig)
  return (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      return { problems: [`is not JSON (${messageOf(error)})`] }
    }
    if (!validate(value)) return { problems: (validate.errors ?? []).map(problemOf) }
    const problem = value.healthCheck === undefined ? undefined : targetProblem(value.healthCheck)
    return problem === undefined ? { config: value } : { problems: [`healthCheck: ${problem}`] }
  }
}

function problemOf({ instancePath, keyword, params, message }: ErrorObject): string {
  const at = instancePath.slice(1).replaceAll('/', '.')
  const inside = (name: unknown): string => [at, String(name)].filter((part) => part !== '').join('.')
  if (keyword === 'additionalProperties') return `${inside(params.additionalProperty)} is not a known field`
  if (keyword === 'required') return `${inside(params.missingProperty)} is required`
  if (keyword === 'enum') return `${at} must be one of ${(params.allowedValues as readonly unknown[]).join(', ')}`
  return `${at === '' ? 'it' : at} ${message ?? 'is invalid'}`
}
