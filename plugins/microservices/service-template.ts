/** Returns the files of a new service: content by file name. */
export function serviceFiles(domain: string, name: string): Readonly<Record<string, string>> {
  const config = {
    name,
    domain,
    version: '0.1.0',
    description: '',
    dependencies: [],
    healthCheck: '/health',
    database: { isolation: 'shared', migrations: false },
    auth: { strategy: 'jwt' },
  }
  return {
    'service.config.json': `${JSON.stringify(config, null, 2)}\n`,
    'index.ts': `import { defineRoute, Type } from 'zin'
import { defineMicroservice } from 'zin/plugins/microservices'

export default defineMicroservice(({ name, version }) => ({
  routes: [
    defineRoute({
      method: 'GET',
      path: '/health',
      summary: 'Whether the service is healthy',
      probe: true,
      response: { 200: Type.Object({ status: Type.String() }) },
      handler: () => ({ status: 'healthy' }),
    }),
    defineRoute({
      method: 'GET',
      path: '/${name}',
      summary: 'Name and version of the service',
      response: { 200: Type.Object({ name: Type.String(), version: Type.String() }) },
      handler: () => ({ name, version }),
    }),
  ],
}))
`,
  }
}
