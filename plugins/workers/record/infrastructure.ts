import { type Check, fieldOf, isObject, isOneOf, type Problem, problem, unknownFields } from './problem.js'
import { type Infrastructure, type PersistencePlace, persistenceDrivers } from './record.js'

const queueDrivers = ['redis', 'kvstore', 'embedded'] as const

/** Accepted names of each queue store. */
const namesOf: Readonly<Record<'redis' | 'embedded', readonly string[]>> = { redis: ['redis', 'kvstore'], embedded: ['embedded'] }

/** Patterns of the parts of a location. */
const locationPatterns: Readonly<Record<Exclude<keyof PersistencePlace, 'driver'>, RegExp>> = {
  connection: /^[A-Za-z0-9_.-]{1,64}$/,
  table: /^[A-Za-z_][A-Za-z0-9_]{0,62}$/,
  keyPrefix: /^[A-Za-z0-9_.:{}-]{1,100}$/,
}
const locationKeys = ['driver', ...Object.keys(locationPatterns), 'client']

function checkPersistence(value: unknown): Problem | undefined {
  const field = 'infrastructure.persistence'
  const refuse = (name: string, text: string): Problem => problem(name, 'INVALID_PERSISTENCE_CONFIG', `"${name}" ${text}`)
  if (!isObject(value)) return refuse(field, 'must be an object')
  const [unknown] = unknownFields(value, locationKeys, 'INVALID_PERSISTENCE_CONFIG', field)
  if (unknown !== undefined) return unknown
  const driver = fieldOf(value, 'driver')
  if (driver !== undefined && !isOneOf(driver, persistenceDrivers))
    return refuse(`${field}.driver`, `must be one of ${persistenceDrivers.join(', ')}`)
  for (const [key, pattern] of Object.entries(locationPatterns)) {
    const given = fieldOf(value, key)
    if (given !== undefined && (typeof given !== 'string' || !pattern.test(given)))
      return refuse(`${field}.${key}`, `must be text that matches ${pattern.source}`)
  }
  const client = fieldOf(value, 'client')
  return client !== undefined && typeof client !== 'object' && typeof client !== 'function'
    ? refuse(`${field}.client`, 'must be a database, key-value store, document database or edge binding')
    : undefined
}

export const checkInfrastructure: Check = (value) => {
  if (!isObject(value)) return problem('infrastructure', 'INVALID_INFRASTRUCTURE', '"infrastructure" must be an object')
  const [unknown] = unknownFields(value, ['driver', 'redis', 'persistence'], 'INVALID_INFRASTRUCTURE', 'infrastructure')
  if (unknown !== undefined) return unknown
  const driver = fieldOf(value, 'driver')
  if (driver !== undefined && !isOneOf(driver, queueDrivers))
    return problem('infrastructure.driver', 'INVALID_INFRASTRUCTURE', `"infrastructure.driver" must be one of ${queueDrivers.join(', ')}`)
  const redis = fieldOf(value, 'redis')
  if (redis !== undefined && !(isObject(redis) && fieldOf(redis, 'env') === true && Object.keys(redis).length === 1))
    return problem(
      'infrastructure.redis',
      'INVALID_REDIS_CONFIG',
      '"infrastructure.redis" must be {env: true}: workers use the connection of the app',
    )
  const persistence = fieldOf(value, 'persistence')
  return persistence === undefined ? undefined : checkPersistence(persistence)
}

/** Problems of valid infrastructure that names another queue store than that of the app. */
export function queueStoreProblems(
  { driver, redis }: Partial<Pick<Infrastructure, 'driver' | 'redis'>> = {},
  store: 'redis' | 'embedded',
): readonly Problem[] {
  const here = store === 'redis' ? 'on Redis (REDIS_URL)' : 'embedded in the process, because REDIS_URL is not set'
  const problems: Problem[] = []
  if (driver !== undefined && !namesOf[store].includes(driver)) {
    const text = `"infrastructure.driver" cannot be "${driver}": the queues of this app are ${here}; omit it, or use "${store}"`
    problems.push(problem('infrastructure.driver', 'INVALID_INFRASTRUCTURE', text))
  }
  if (redis !== undefined && store !== 'redis') {
    const text = `"infrastructure.redis" cannot be used: the queues of this app are ${here}`
    problems.push(problem('infrastructure.redis', 'INVALID_REDIS_CONFIG', text))
  }
  return problems
}
