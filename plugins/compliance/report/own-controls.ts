import type { ComplianceContext, CompliancePart } from '../part.js'

/** Controls provided by other plugins, read from the running app: operator access, request signing and health checks. */
export function createAccessControls({ host, services }: Pick<ComplianceContext, 'host' | 'services'>): CompliancePart {
  return {
    controls: () => {
      const plugins = new Set(host.plugins().flatMap(({ name, state }) => (state === 'enabled' ? [name] : [])))
      const routes = host.routes().filter(({ path }) => path.startsWith('/api/'))
      const guarded = routes.filter(({ use }) => use.length > 0)
      const open = services.ops.mode === 'open'
      const bare = routes.length - guarded.length
      const guardGaps = [
        ...(open ? ['Anyone who can reach this machine can operate the app: set OPS_AUTH to required'] : []),
        ...(bare > 0 ? [`${bare} routes under /api list no middleware`] : []),
      ]
      const signed = plugins.has('bulletproof')
      return [
        {
          id: 'access/operators',
          title: 'Only authenticated operators can operate the app',
          state: guardGaps.length === 0 ? 'met' : 'gap',
          evidence: { operators: services.ops.mode, guardedRoutes: guarded.length, unguardedRoutes: bare },
          gaps: guardGaps,
        },
        {
          id: 'access/devices',
          title: 'A stolen token is useless without its device',
          state: signed ? 'met' : 'gap',
          evidence: { bulletproof: signed, login: plugins.has('login') },
          gaps: signed ? [] : ['Requests are not signed: enable the plugin bulletproof'],
        },
        {
          id: 'availability/health',
          title: 'Failures are detected',
          state: plugins.has('health') ? 'met' : 'gap',
          evidence: { health: plugins.has('health'), decisions: plugins.has('decisions'), observability: plugins.has('observability') },
          gaps: plugins.has('health') ? [] : ['There is no health check of the app: enable the plugin health'],
        },
      ]
    },
  }
}
