import type { SettingValues } from 'zin'
import { edgeProxyErrors } from '../errors.js'
import { compatibilityDate } from '../local/workerd-server.js'
import type { EdgeProxySettings, edgeDeploySettings } from '../settings.js'

/** What `zin deploy` sends, except for the code. */
export interface DeployPlan {
  /** Content of the configuration file for wrangler. */
  readonly config: Readonly<Record<string, unknown>>
  readonly name: string
  readonly binding: string
  readonly database: string
  readonly vars: Readonly<Record<string, string>>
  /** Set with `wrangler secret put`; never a variable. */
  readonly secret: { readonly name: 'EDGE_REMOTE_SECRET'; readonly value: string }
}

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** A UUID. */
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const minSecretBytes = 32
/** Maximum size of one variable, in bytes. */
const maxVarBytes = 5_120

/** Checks the settings and returns what to send. Throws EDGE_DEPLOY_CONFIG. Pure. */
export function deployPlan(settings: EdgeProxySettings & SettingValues<typeof edgeDeploySettings>): DeployPlan {
  const { EDGE_DATABASE_NAME: databaseName, EDGE_DATABASE_ID: databaseId } = settings
  const workerName = settings.EDGE_WORKER_NAME || `${settings.APP_NAME.toLowerCase().replace(/[^a-z0-9]+/g, '-')}-edge`
  if (!namePattern.test(workerName))
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG('EDGE_WORKER_NAME must be 1 to 63 lower-case letters, digits and hyphens, such as shop-edge')
  if (databaseName === '')
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG(
      'EDGE_DATABASE_NAME is not set; create a database with "npx wrangler d1 create <name>" and set its name',
    )
  if (!idPattern.test(databaseId))
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG('EDGE_DATABASE_ID must be the database_id that "npx wrangler d1 create <name>" prints, a UUID')
  const value = settings.EDGE_REMOTE_SECRET || settings.APP_KEY
  const from = settings.EDGE_REMOTE_SECRET ? 'EDGE_REMOTE_SECRET' : 'APP_KEY'
  if (Buffer.byteLength(value) < minSecretBytes)
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG(
      `${from} has ${Buffer.byteLength(value)} bytes; a deployed proxy requires ${minSecretBytes} or more`,
    )
  const { EDGE_REMOTE_MODE, EDGE_STATEMENTS_JSON, EDGE_SCOPES, EDGE_BINDING, SIGNATURE_HEADER_PREFIX } = settings
  const vars = {
    EDGE_REMOTE_MODE,
    EDGE_BINDING,
    EDGE_RATE_PER_MINUTE: String(settings.EDGE_RATE_PER_MINUTE),
    EDGE_RATE_TOTAL_PER_MINUTE: String(settings.EDGE_RATE_TOTAL_PER_MINUTE),
    ...(EDGE_SCOPES === '' ? {} : { EDGE_SCOPES }),
    ...(EDGE_STATEMENTS_JSON === '' ? {} : { EDGE_STATEMENTS_JSON: compact(EDGE_STATEMENTS_JSON) }),
    ...(SIGNATURE_HEADER_PREFIX === 'x-sig-' ? {} : { SIGNATURE_HEADER_PREFIX }),
  }
  const large = Object.entries(vars).find(([, text]) => Buffer.byteLength(text) > maxVarBytes)
  if (large !== undefined)
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG(
      `${large[0]} has ${Buffer.byteLength(large[1])} bytes; the maximum for a worker variable is ${maxVarBytes}. Register fewer or shorter statements`,
    )
  return {
    name: workerName,
    binding: EDGE_BINDING,
    database: `${databaseName} (${databaseId})`,
    vars,
    secret: { name: 'EDGE_REMOTE_SECRET', value },
    config: {
      name: workerName,
      main: 'worker.js',
      compatibility_date: compatibilityDate,
      d1_databases: [{ binding: EDGE_BINDING, database_name: databaseName, database_id: databaseId }],
      vars,
    },
  }
}

/** Removes insignificant whitespace from valid JSON. */
function compact(json: string): string {
  return JSON.stringify(JSON.parse(json))
}
