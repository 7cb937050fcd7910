import { defineRoute, type Route } from 'zin'
import type { Resources } from './contract.js'
import { alertsResponse, currentResponse, historyQuery, historyResponse, messageResponse, trendsResponse } from './schema.js'
import type { ActiveAlert, ResourceSnapshot } from './snapshot.js'

const use = ['ops']
const tag = 'resources'
const iso = (ms: number): string => new Date(ms).toISOString()
const alertView = <Alert extends ActiveAlert>(alert: Alert) => ({ ...alert, since: iso(alert.since) })
const snapshotView = (snapshot: ResourceSnapshot) => ({ ...snapshot, at: iso(snapshot.at), alerts: snapshot.alerts.map(alertView) })

/** Routes for the resources of the app's nodes. */
export function resourceRoutes(resources: Resources): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/resources/current',
      summary: 'Current resource usage of each node',
      tag,
      use,
      response: { 200: currentResponse },
      handler: async () => {
        const current = await resources.current()
        return { ok: true, monitoring: resources.monitoring, current: current.map(snapshotView) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/resources/history',
      summary: 'Resource history of the nodes, newest first',
      tag,
      use,
      query: historyQuery,
      response: { 200: historyResponse },
      handler: async ({ input }) => {
        const { hours } = input.query
        const { snapshots, ...about } = await resources.history(input.query)
        return { ok: true, hours, ...about, history: snapshots.map(snapshotView) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/resources/alerts',
      summary: 'Active alerts of the nodes, and the most recently raised or cleared ones',
      tag,
      use,
      response: { 200: alertsResponse },
      handler: async () => {
        const { active, recent } = await resources.alerts()
        return { ok: true, alerts: active.map(alertView), recent: [...recent] }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/resources/trends',
      summary: 'Trends of the resource usage of the nodes over the last hour, with forecasts',
      tag,
      use,
      response: { 200: trendsResponse },
      handler: async () => ({ ok: true, trends: [...(await resources.trends())] }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/resources/start',
      summary: 'Start resource monitoring on all nodes',
      tag,
      use,
      response: { 200: messageResponse },
      handler: async () => {
        await resources.start()
        return { ok: true, message: 'Resource monitoring started' }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/resources/stop',
      summary: 'Stop resource monitoring on all nodes',
      tag,
      use,
      response: { 200: messageResponse },
      handler: async () => {
        await resources.stop()
        return { ok: true, message: 'Resource monitoring stopped' }
      },
    }),
  ]
}
