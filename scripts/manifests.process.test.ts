import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js'
import type { Job } from 'kubernetes-types/batch/v1.js'
import type { ConfigMap, PodTemplateSpec, Secret, Service } from 'kubernetes-types/core/v1.js'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../core/config/load.js'
import { plainEnv } from '../core/config/read-settings.js'
import { Host } from '../core/host/host.js'
import { memoryLogger } from '../core/log/memory-logger.js'
import { type Env, linkPackages, runNode, temporaryFolder } from './app-process.js'
import { envOf, execForm, lastOf, parseDockerfile } from './testing/dockerfile.js'

const folder = 'examples/full'

interface Manifest {
  readonly file: string
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const manifests: readonly Manifest[] = readdirSync(`${folder}/k8s`).flatMap((file) =>
  parseAllDocuments(readFileSync(`${folder}/k8s/${file}`, 'utf8')).map((document) => {
    assert.deepEqual(document.errors, [], file)
    return { file, ...(document.toJS() as Omit<Manifest, 'file'>) }
  }),
)
const allOf = <T>(kind: string): readonly (T & Manifest)[] => manifests.filter((one) => one.kind === kind) as unknown as (T & Manifest)[]
const oneOf = <T>(kind: string): T & Manifest => {
  const [first, ...others] = allOf<T>(kind)
  assert.ok(first && others.length === 0, `one ${kind}`)
  return first
}

/** The published types, made from the OpenAPI document of Kubernetes. */
const modules: Readonly<Record<string, string>> = { v1: 'core/v1' }
const isKeda = ({ apiVersion }: Manifest): boolean => apiVersion.startsWith('keda.sh/')

const strict = (properties: object, required: readonly string[] = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const text = { type: 'string', minLength: 1 }
const count = { type: 'integer', minimum: 0 }
const named = strict({ name: text })
/** Those fields of KEDA's resources (keda.sh/v1alpha1) that the example uses. */
const kedaSpecs: Readonly<Record<string, object>> = {
  TriggerAuthentication: strict({
    secretTargetRef: { type: 'array', minItems: 1, items: strict({ parameter: { const: 'apiKey' }, name: text, key: text }) },
  }),
  ScaledObject: strict({
    scaleTargetRef: named,
    minReplicaCount: count,
    maxReplicaCount: count,
    pollingInterval: count,
    cooldownPeriod: count,
    fallback: strict({ failureThreshold: count, replicas: count }),
    triggers: {
      type: 'array',
      minItems: 1,
      items: strict({
        type: { const: 'metrics-api' },
        metadata: strict({
          url: { type: 'string', pattern: '^http://' },
          valueLocation: text,
          targetValue: { type: 'string', pattern: '^\\d+$' },
          // Without `keyParamName`, the header is X-API-KEY.
          authMode: { const: 'apiKey' },
          method: { const: 'header' },
        }),
        authenticationRef: named,
      }),
    },
  }),
}

/** Names of settings in `data`, and what the app says about them in production. */
async function checked(env: Env): Promise<{ readonly host: Host; readonly problems: readonly string[] }> {
  const { exported, rootDir } = await loadConfig(resolve(folder), {})
  const host = new Host(exported as ConstructorParameters<typeof Host>[0], { rootDir, env: plainEnv(env), log: memoryLogger(), roles: [] })
  const problems = await host.prepare().then(
    () => host.view.problems(),
    ({ message }: Error) => message.split('\n'),
  )
  return { host, problems }
}

const deployments = allOf<Deployment>('Deployment')
const templates: readonly (readonly [string, PodTemplateSpec | undefined])[] = [...deployments, ...allOf<Job>('Job')].map(
  ({ metadata, spec }) => [metadata.name, spec?.template] as const,
)
const image = parseDockerfile(readFileSync(`${folder}/Dockerfile`, 'utf8')).at(-1)
const settings = oneOf<ConfigMap>('ConfigMap').data ?? {}
const secrets = oneOf<Secret>('Secret').stringData ?? {}
const production: Env = { NODE_ENV: 'production', KUBERNETES_SERVICE_HOST: '10.0.0.1', ZIN_DATA_DIR: '/nonexistent', ...settings }

describe('the Kubernetes manifests of the example full', () => {
  it('have no fields, and no types of values, other than those that Kubernetes publishes', async () => {
    const temporary = temporaryFolder()
    try {
      linkPackages(temporary.path)
      const compile = async (change: (json: string) => string): Promise<string> => {
        const lines = manifests
          .filter((one) => !isKeda(one))
          .map(({ file: _file, ...one }, index) => {
            const module = modules[one.apiVersion] ?? one.apiVersion.replace(/\.k8s\.io/, '')
            return `import type { ${one.kind} as T${index} } from 'kubernetes-types/${module}'\nexport const t${index}: T${index} = ${change(JSON.stringify(one))}\n`
          })
        writeFileSync(join(temporary.path, 'manifests.ts'), lines.join(''))
        const options = ['--noEmit', '--strict', '--ignoreConfig', '--module', 'nodenext', '--types', '']
        return (await runNode([resolve('node_modules/ts7/bin/tsc'), ...options, 'manifests.ts'], temporary.path)).stdout
      }
      assert.equal(await compile((json) => json), '')
      assert.match(await compile((json) => json.replace('readOnlyRootFilesystem', 'readOnlyRoot')), /"readOnlyRoot"' does not exist/)
    } finally {
      temporary.remove()
    }
  })

  it("have no fields of KEDA's resources that are not in their schemas", () => {
    const ajv = new Ajv({ allErrors: true })
    const keda = manifests.filter(isKeda)
    assert.deepEqual(keda.map(({ kind }) => kind).sort(), Object.keys(kedaSpecs).sort())
    for (const { file: _file, ...one } of keda) {
      const schema = strict({ apiVersion: { const: 'keda.sh/v1alpha1' }, kind: text, metadata: named, spec: kedaSpecs[one.kind] })
      assert.ok(ajv.validate(schema, one), ajv.errorsText())
    }
  })

  for (const [name, template] of templates) {
    it(`run ${name} as the user of the image, on a read-only file system, with the folders that it writes to`, () => {
      assert.ok(template?.spec && image)
      const { spec } = template
      const [container, ...others] = spec.containers
      assert.ok(container && others.length === 0)
      const { runAsNonRoot, runAsUser, runAsGroup } = spec.securityContext ?? {}
      assert.deepEqual([runAsNonRoot, `${runAsUser}:${runAsGroup}`], [true, lastOf(image, 'USER')])
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      const mounts = container.volumeMounts ?? []
      assert.deepEqual(mounts.map(({ mountPath }) => mountPath).sort(), [lastOf(image, 'VOLUME'), '/tmp'].sort())
      assert.deepEqual(
        mounts.map((mount) => mount.name),
        (spec.volumes ?? []).map((volume) => volume.name),
      )
      assert.deepEqual(container.args?.slice(0, 2), execForm(lastOf(image, 'CMD')).slice(0, 2))
      assert.deepEqual(container.envFrom, [
        { configMapRef: { name: oneOf('ConfigMap').metadata.name } },
        { secretRef: { name: oneOf('Secret').metadata.name } },
      ])
    })
  }

  it('have a deployment and a disruption budget for each role; the service, the budgets and the autoscalers name them', () => {
    const roles = deployments.map(({ spec }) => spec?.template.spec?.containers[0]?.args?.at(-1))
    assert.deepEqual(roles.sort(), ['http', 'worker'])
    const labels = new Map(deployments.map(({ metadata, spec }) => [metadata.name, spec?.template.metadata?.labels]))
    for (const { spec } of deployments) assert.deepEqual(spec?.selector.matchLabels, spec?.template.metadata?.labels)
    const budgets = allOf<PodDisruptionBudget>('PodDisruptionBudget')
    assert.deepEqual(budgets.map(({ metadata }) => metadata.name).sort(), [...labels.keys()].sort())
    for (const { metadata, spec } of budgets) assert.deepEqual(spec?.selector?.matchLabels, labels.get(metadata.name))
    assert.deepEqual(oneOf<Service>('Service').spec?.selector, labels.get('app-http'))
    assert.equal(oneOf<HorizontalPodAutoscaler>('HorizontalPodAutoscaler').spec?.scaleTargetRef.name, 'app-http')
    const scaled = oneOf<{ readonly spec: { readonly scaleTargetRef: { readonly name: string } } }>('ScaledObject')
    assert.equal(scaled.spec.scaleTargetRef.name, 'app-worker')
    // Their number is that of an autoscaler: a fixed one would undo its work at each deployment.
    for (const { spec } of deployments) assert.equal(spec?.replicas, undefined)
  })

  it('are settings and routes of the app, which has nothing to object to in production but the keys of the template', async () => {
    const keys = Object.fromEntries(Object.keys(secrets).map((name) => [name, `${name} `.padEnd(44, 'x')]))
    const { host, problems } = await checked({ ...production, ...keys })
    try {
      assert.deepEqual([problems, host.view.warnings()], [[], []])
      const known = new Set(host.view.settings().map(({ name }) => name))
      assert.deepEqual(
        [...Object.keys(settings), ...Object.keys(secrets)].filter((name) => !known.has(name)),
        [],
      )
      const paths = host.view.routes().map(({ path }) => path)
      for (const { metadata, spec } of deployments) {
        const pod = spec?.template.spec
        const [container] = pod?.containers ?? []
        for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe].filter(
          (one) => one !== undefined,
        ))
          assert.ok(paths.includes(probe.httpGet?.path ?? ''), `${metadata.name}: ${probe.httpGet?.path}`)
        assert.ok((pod?.terminationGracePeriodSeconds ?? 0) * 1_000 >= host.view.app.shutdownMs + 5_000, metadata.name)
      }
      const [trigger] = oneOf<{ spec: { triggers: readonly { metadata: { url: string } }[] } }>('ScaledObject').spec.triggers
      const url = new URL(trigger?.metadata.url ?? '')
      const service = oneOf<Service>('Service')
      assert.equal(url.host, `${service.metadata.name}:${service.spec?.ports?.[0]?.port}`)
      assert.ok(paths.includes(url.pathname.replace('email-sender', ':name')))
    } finally {
      await host.stop()
    }
    const refused = await checked({ ...production, ...secrets })
    for (const name of ['APP_KEY', 'BULLETPROOF_SIGNING_SECRET', 'AUTOSCALE_KEY'])
      assert.ok(
        refused.problems.some((problem) => problem.includes(name)),
        refused.problems.join('\n'),
      )
  })
})

it('KEDA reads the desired number with the key of the secret, and nothing else', async () => {
  const [target] = oneOf<{ spec: { secretTargetRef: readonly { name: string; key: string }[] } }>('TriggerAuthentication').spec
    .secretTargetRef
  assert.equal(target?.name, oneOf<Secret>('Secret').metadata.name)
  const keys = Object.fromEntries(Object.keys(secrets).map((name) => [name, `${name} `.padEnd(44, 'x')]))
  const key = keys[target?.key ?? ''] ?? ''
  assert.ok(key.length > 0)
  const { OPS_AUTH = '', WORKER_AUTO_SCALING_ENABLED = '' } = settings
  const temporary = temporaryFolder()
  const { exported } = await loadConfig(resolve(folder), {})
  const env = { ...keys, NODE_ENV: 'test', APP_NAME: 'zin-app', DEMO_PASSWORD: 'p'.repeat(20), OPS_AUTH, WORKER_AUTO_SCALING_ENABLED }
  const host = new Host(exported as ConstructorParameters<typeof Host>[0], {
    rootDir: resolve(folder),
    env: plainEnv({ ...env, ZIN_DATA_DIR: temporary.path }),
    log: memoryLogger(),
    runFile: false,
  })
  try {
    await host.start({ listen: false })
    const { metadata } = oneOf<{ spec: { triggers: readonly { metadata: Readonly<Record<string, string>> }[] } }>('ScaledObject').spec
      .triggers[0] as { metadata: Readonly<Record<string, string>> }
    const { pathname: path } = new URL(metadata.url ?? '')
    const read = (headers: Readonly<Record<string, string>>, at = path) => host.http.inject({ method: 'GET', path: at, headers })
    const answer = await read({ 'X-API-KEY': key })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.ok(Number.isInteger((answer.body as Readonly<Record<string, unknown>>)[metadata.valueLocation ?? '']))
    assert.equal((await read({})).status, 401)
    assert.equal((await read({ 'X-API-KEY': key }, '/api/workers')).status, 401)
  } finally {
    await host.stop()
    temporary.remove()
  }
})

describe('the compose file of the example full', () => {
  const { services, volumes } = parse(readFileSync(`${folder}/compose.yml`, 'utf8')) as {
    readonly services: Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly environment?: Env }>>
    readonly volumes: object
  }

  it('runs the image with Redis and MariaDB, and metrics only with their profile', () => {
    const always = Object.entries(services).filter(([, { profiles }]) => profiles === undefined)
    assert.deepEqual(
      always.map(([name]) => name),
      ['app', 'redis', 'mariadb'],
    )
    const { app, redis } = services
    assert.ok(app && redis && image)
    assert.deepEqual([app.build, app.read_only, app.env_file], ['.', true, '.env'])
    assert.deepEqual(app.volumes, [`app:${envOf(image).ZIN_DATA_DIR}`])
    assert.match(String(redis.command), /noeviction/)
    const used = Object.values(services).flatMap(({ volumes: own = [] }) => (own as string[]).map((one) => one.split(':')[0] ?? ''))
    assert.deepEqual([...new Set(used.filter((name) => !name.startsWith('.')))].sort(), Object.keys(volumes).sort())
  })

  it('sets settings with which the app has nothing to object to in production, and logs in to both servers', async () => {
    const env = services.app?.environment ?? {}
    const password = 'p'.repeat(44)
    const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace(/^\$\{.*\}$/, password)]))
    const keys = { APP_KEY: 'k'.repeat(44), BULLETPROOF_SIGNING_SECRET: 's'.repeat(44), APP_NAME: 'shop' }
    const { host, problems } = await checked({ NODE_ENV: 'production', ZIN_DATA_DIR: '/nonexistent', ...keys, ...filled })
    await host.stop()
    assert.deepEqual(problems, [])
    const known = new Set(host.view.settings().map(({ name }) => name))
    assert.deepEqual(
      Object.keys(env).filter((name) => !known.has(name)),
      [],
    )
    const { MARIADB_DATABASE, MARIADB_USER, MARIADB_PASSWORD } = services.mariadb?.environment ?? {}
    assert.deepEqual([env.DB_DATABASE, env.DB_USERNAME, env.DB_PASSWORD], [MARIADB_DATABASE, MARIADB_USER, MARIADB_PASSWORD])
    const named = /^\$\{(\w+):/.exec(MARIADB_PASSWORD ?? '')?.[1] ?? ''
    assert.match(readFileSync(`${folder}/.env.example`, 'utf8'), new RegExp(`^${named}=generate$`, 'm'))
    assert.deepEqual([new URL(env.REDIS_URL ?? '').hostname, env.DB_HOST], ['redis', 'mariadb'])
  })
})
