import { defineRoute, type Route, Type } from 'zin'
import type { SlowJob, SlowJobList } from './service.js'

const response = {
  200: Type.Object({
    jobs: Type.Array(Type.Object({ worker: Type.String(), job: Type.String(), ms: Type.Integer() })),
  }),
}

export function slowJobsRoutes(list: SlowJobList): readonly Route[] {
  const body = (): { jobs: readonly SlowJob[] } => ({ jobs: list.all() })
  return [
    defineRoute({ method: 'GET', path: '/api/slow-jobs', summary: 'List jobs over the time limit', use: ['ops'], response, handler: body }),
    defineRoute({
      method: 'DELETE',
      path: '/api/slow-jobs',
      summary: 'Delete the recorded jobs',
      use: ['ops'],
      response,
      handler: () => {
        list.clear()
        return body()
      },
    }),
  ]
}
