import { defineRoute, type Route } from 'zin'
import type { GraphqlEngine } from '../graphql/engine.js'
import { graphqlBody } from '../schema/reads.js'
import type { MonitorReads } from '../service.js'
import type { ScopeOf } from './reads.js'

/** `POST /graphql`. The packages for it are loaded with the first request. */
export function graphqlRoutes(monitor: MonitorReads, production: boolean, scopeOf: ScopeOf): readonly Route[] {
  let engine: Promise<GraphqlEngine> | undefined
  return [
    defineRoute({
      method: 'POST',
      path: '/graphql',
      summary: 'queueStats, queue, jobs and job as GraphQL queries',
      description: 'At most 1000 tokens, depth 5, 15 aliases and a cost of 300, which is the number of jobs that may be read.',
      tag: 'queue monitor',
      use: ['monitor'],
      body: graphqlBody,
      bodyLimit: 64 * 1024,
      handler: async (ctx) => {
        const scope = scopeOf(ctx)
        const { operationName, query, variables } = ctx.input.body
        engine ??= import('../graphql/engine.js').then((made) => new made.GraphqlEngine(monitor, production))
        const reply = await (await engine).run({ query, variables: variables ?? {}, operationName: operationName ?? undefined }, scope)
        ctx.status = reply.status
        ctx.set('Content-Type', 'application/json; charset=utf-8')
        ctx.body = reply.text
      },
    }),
  ]
}
