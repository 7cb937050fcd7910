import { join } from 'node:path'
import { definePlugin, messageOf, optional } from 'zin'
import { openNonces, type RequestNonces } from 'zin/plugins/bulletproof'
import { decisionsService } from 'zin/plugins/decisions'
import { kvService } from 'zin/plugins/kv'
import { tracesService } from 'zin/plugins/observability'
import { opsService } from 'zin/plugins/ops'
import { Announcer } from './announce.js'
import { assemble } from './assemble.js'
import { authProblems } from './auth/check.js'
import { windowMs } from './auth/signed.js'
import type { AuthOptions } from './auth/strategies.js'
import { systemResolver } from './calls/checked-lookup.js'
import { microserviceCommands } from './cli.js'
import { microservicesService } from './contract.js'
import { loadDefinitions } from './definitions/load-definitions.js'
import { microserviceErrors } from './errors.js'
import { microserviceHooks } from './hooks.js'
import { microservicesOptions } from './options.js'
import { microserviceRoutes } from './routes.js'
import { createRunner } from './run/create-runner.js'
import type { StateFeed } from './run/state-feed.js'
import { microserviceSettings } from './settings.js'
import { tracingMiddleware } from './tracing/middleware.js'
import { Scopes } from './tracing/scopes.js'
import { fetchDocument } from './types/fetch-document.js'

export type * from './contract.js'
export { defineMicroservice, microservicesService } from './contract.js'
export type { MicroserviceHooks, ServiceChange, ServiceCircuitChange, ServiceFailover } from './hooks.js'
export type { CustomAuthRequest, MicroservicesOptions } from './options.js'
export type { CallOptions, OperationShape, ServiceFailure, ServiceOperation, ServiceSuccess } from './types/service-client.js'
export { serviceClient } from './types/service-client.js'

/** Discovers, starts, monitors and calls services, in folders of the app or at registered URLs. */
export const microservices = definePlugin({
  name: 'microservices',
  version: '1.0.0',
  description: 'Discovers, starts and monitors services, in folders of the app or elsewhere, and calls them by name',
  dependencies: ['ops'],
  uses: { ops: opsService, decisions: optional(decisionsService), kv: optional(kvService), traces: optional(tracesService) },
  provides: [microservicesService],
  hooks: microserviceHooks,
  errors: microserviceErrors,
  settings: microserviceSettings,
  options: microservicesOptions,
  deadlines: { ready: 300_000, stop: 25_000 },
  setup(ctx) {
    const { clock, host, hooks, log, options, services, settings } = ctx
    const { production } = host.app
    const scopes = new Scopes()
    let nonces: RequestNonces | undefined
    const auth: AuthOptions = {
      secrets: settings,
      caller: host.app.name,
      clock,
      custom: options,
      takeNonce: async (service, claim) => {
        if (nonces === undefined) throw new Error('the nonce store for signed calls is not open')
        return (await nonces.claim(`service:${service}`, claim))?.reason
      },
    }
    const tracing = { enabled: settings.MICROSERVICES_TRACING, samplingRate: settings.MICROSERVICES_TRACING_RATE }
    const announcer = new Announcer({
      log,
      decisions: () => services.decisions,
      onServiceChange: hooks.slot('onServiceChange'),
      onServiceCircuitChange: hooks.slot('onServiceCircuitChange'),
      onServiceFailover: hooks.slot('onServiceFailover'),
    })
    const load = (): ReturnType<typeof loadDefinitions> => {
      const given = host.settings().find(({ name }) => name === 'MICROSERVICES')?.source !== 'default'
      const discovers = given ? settings.MICROSERVICES : settings.ENABLE_MICROSERVICES
      return loadDefinitions({ discovers, app: host.app, port: host.app.bind.port, options, settings })
    }
    const feeds = new Set<StateFeed>()
    const { manager, metrics, register } = assemble({
      manage: ctx.manage,
      options,
      auth,
      scopes,
      tracing,
      traces: () => services.traces,
      clock,
      random: Math.random,
      log,
      checksAll: host.roles.has('http'),
      runner: createRunner({
        // Services run only in the process of the app that serves HTTP.
        runsHere: host.roles.has('http'),
        app: host.app,
        env: process.env,
        auth,
        calls: () => manager,
        services: () => manager.registered(),
        feeds,
        options,
        tracing,
        scopes,
        restartTraces: options.restartTraces,
        clock,
        log,
      }),
      onChange: (service, from, to) => announcer.change(service, from, to),
      onState: (state) => {
        for (const feed of feeds) feed.changed(state)
      },
      onTransition: (service, instance, transition) => announcer.circuit(service, instance, transition),
      onLost: (service, instance, reason) => announcer.failover(service, instance, reason),
    })
    ctx.provide(microservicesService, manager)
    ctx.use(
      tracingMiddleware({
        scopes,
        clock,
        log,
        service: host.app.name,
        ...tracing,
        restart: options.restartTraces,
        current: () => services.traces?.current(),
      }),
    )
    hooks.on('collectMetrics', metrics)
    ctx.routes(
      microserviceRoutes(
        manager,
        (request, permission) => services.ops.demand(request, permission),
        (action, work) => ctx.manage(action, work),
      ),
    )
    ctx.commands(
      microserviceCommands({
        directory: options.directory,
        fetch: async (service, url) =>
          fetchDocument(service, url, { own: { definitions: (await load()).services, auth }, resolver: systemResolver }),
      }),
    )
    ctx.describe(() => {
      const all = manager.list()
      return all.length === 0 ? undefined : `${all.filter(({ state }) => state === 'running').length}/${all.length} running`
    })

    ctx.onStart(async () => {
      const defined = await load()
      const refusals = authProblems(defined.services, { secrets: settings, custom: options, production })
      if (refusals.length > 0) throw microserviceErrors.SERVICE_SECRET_INVALID(refusals)
      for (const note of defined.notes) log.warn(note)
      if (defined.services.some(({ auth: strategy, local }) => strategy === 'signed' && local !== undefined)) {
        const opened = openNonces({ kv: () => services.kv, folder: join(host.app.dataDir, 'microservices'), clock, windowMs })
        await opened.open()
        nonces = opened
        ctx.every(30_000, () => opened.sweep())
      }
      register(defined.services)
    })
    ctx.onReady(async () => {
      if (!options.autoStart) return
      await manager.startAll((service, error) => log.error({ service, err: error }, messageOf(error)))
    })
    ctx.onStop(async () => {
      await manager.stopAll()
      scopes.close()
    })
  },
})
