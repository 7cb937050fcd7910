// The defaults of the settings that the specification names.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appSettings } from '../core/host/app-settings.js'
import { autoscaleSettings } from '../plugins/autoscale/settings.js'
import { complianceSettings } from '../plugins/compliance/settings.js'
import { databaseSettings } from '../plugins/database/settings.js'
import { healthSettings } from '../plugins/health/settings.js'
import { microserviceSettings } from '../plugins/microservices/settings.js'
import { observabilitySettings } from '../plugins/observability/settings.js'
import { proxyServerSettings, rdbProxySettings } from '../plugins/rdb-proxy/settings.js'
import { resourcesOptions } from '../plugins/resources/options.js'
import { resourceSettings } from '../plugins/resources/settings.js'
import { workerHealthSettings } from '../plugins/worker-health/settings.js'
import { workerSettings } from '../plugins/workers/settings.js'

const declared: Readonly<Record<string, { readonly default?: unknown }>> = {
  ...appSettings,
  ...autoscaleSettings,
  ...complianceSettings,
  ...databaseSettings,
  ...healthSettings,
  ...microserviceSettings,
  ...observabilitySettings,
  ...proxyServerSettings,
  ...rdbProxySettings,
  ...resourceSettings,
  ...workerHealthSettings,
  ...workerSettings,
}

const specified: Readonly<Record<string, unknown>> = {
  WORKERS_ENABLED: true,
  WORKER_ENABLED: true,
  WORKER_CONCURRENCY: 5,
  WORKER_TIMEOUT: 60,
  WORKER_CONNECTION_TIMEOUT: 5000,
  WORKER_RETRIES: 3,
  WORKER_AUTO_START: false,
  WORKER_RESOURCE_MONITORING: true,
  DOCKER_WORKER: false,
  WORKER_PRIORITY: 1,
  WORKER_HEALTH_CHECK_INTERVAL: 60,
  WORKER_INTERVAL_MS: 5000,
  WORKER_CLUSTER_MODE: true,
  WORKER_REGION: 'us-east-1',
  WORKER_AUTO_SCALING_ENABLED: false,
  WORKER_AUTO_SCALING_INTERVAL: 30,
  WORKER_OFF_PEAK_SCHEDULE: '22:00-06:00',
  WORKER_OFF_PEAK_REDUCTION: 0.7,
  WORKER_COST_OPTIMIZATION_ENABLED: false,
  WORKER_SPOT_INSTANCES: false,
  WORKER_OFF_PEAK_SCALING: false,
  WORKER_AUDIT_LOG: true,
  WORKER_ENCRYPTION: true,
  WORKER_DATA_RETENTION: 90,
  WORKER_GDPR: false,
  WORKER_HIPAA: false,
  WORKER_SOC2: true,
  WORKER_OPENTELEMETRY_ENABLED: false,
  WORKER_PERSISTENCE_DRIVER: 'memory',
  WORKER_PERSISTENCE_DB_CONNECTION: 'default',
  LOG_LEVEL: 'info',
  LOG_CHANNEL: 'console',
  LOG_FORMAT: 'text',
  PROCESSOR_FETCH_TIMEOUT: 30_000,
  PROCESSOR_FETCH_MAX_SIZE: 524_288,
  PROCESSOR_FETCH_RETRY_ATTEMPTS: 3,
  PROCESSOR_FETCH_RETRY_BACKOFF_MS: 1000,
  PROCESSOR_CACHE_DEFAULT_TTL: 3600,
  PROCESSOR_CACHE_MAX_TTL: 604_800,
  PROCESSOR_CACHE_MAX_SIZE: 52_428_800,
  MICROSERVICES: false,
  RDB_PROXY_MAX_BODY_BYTES: 131_072,
  RDB_PROXY_POOL_LIMIT: 10,
  RDB_PROXY_HOST: '127.0.0.1',
  RDB_PROXY_PORT: 8789,
  DB_HOST: 'localhost',
  DB_PORT: 3306,
  DB_USERNAME: 'root',
  DB_PASSWORD: '',
}

describe('the default of a setting', () => {
  for (const [name, value] of Object.entries(specified)) {
    it(`${name} is that of the specification`, () => {
      assert.deepEqual(declared[name]?.default, value)
    })
  }
})

it('monitoring of resources takes a snapshot every 30 s', () => {
  assert.equal(resourcesOptions.defaults.intervalSeconds, 30)
})
