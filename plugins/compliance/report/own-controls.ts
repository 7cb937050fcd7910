import type { ComplianceContext, CompliancePart } from '../part.js'

/** Controls that other plugins put in place, read from the running app: who may operate it, and what its requests must prove. */
export function createAccessControls({ host, services }: Pick<ComplianceContext, 'host' | 'services'>): CompliancePart {
  return {
    controls: () => {
      const plugins = new Set(host.plugins().flatMap(({ name, state }) => (state === 'enabled' ? [name] : [])))
      const routes = host.routes().filter(({ path }) => path.startsWith('/api/'))
      const guarded = routes.filter(({ use }) => use.length > 0)
      const open = services.ops.mode === 'open'
      const bare = routes.length - guarded.length
      const guardGaps = [
        ...(open ? ['Whoever can reach this machine operates the app: set OPS_AUTH to required'] : []),
        ...(bare > 0 ? [`${bare} routes below /api list no middleware`] : []),
      ]
      const signed = plugins.has('bulletproof')
      return [
        {
          id: 'access/operators',
          title: 'Only operators who prove who they are can operate the app',
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
          title: 'Failures are noticed',
          state: plugins.has('health') ? 'met' : 'gap',
          evidence: { health: plugins.has('health'), decisions: plugins.has('decisions'), observability: plugins.has('observability') },
          gaps: plugins.has('health') ? [] : ['Nothing tells whether the app can serve: enable the plugin health'],
        },
      ]
    },
  }
}
